// How the page asks: one function, the user's key, and errors that say what to do.
import type { components, operations, paths } from './schema';

export type Schemas = components['schemas'];

type Base = '/api/headwater/v1/';
type Names<P> = P extends `${Base}${infer Name}` ? Name : never;
type Get<N extends string> = paths[`${Base}${N}` & keyof paths] extends { get: infer Operation } ? Operation : never;
type Json<O> = O extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never;
type QueryOf<O> = O extends { parameters: { query?: infer Query } } ? NonNullable<Query> : never;

/** The questions of our own API that have no variable part in their address. */
export type Question = Exclude<Names<keyof paths>, `${string}{${string}` | 'live' | 'rejected/retry' | 'keys/add' | 'contract.yml'>;
export type Answer<N extends Question> = Json<Get<N>>;
export type Asked<N extends Question> = Partial<Record<keyof QueryOf<Get<N>>, Value>>;
export type SentAgain = Json<operations['rejected-retry']>;

type Value = string | number | readonly string[] | undefined | null;
export type Query = Readonly<Record<string, Value>>;

/** Headwater refused: its own words, and what to do. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fix: string,
    readonly nearest: readonly string[] = [],
  ) {
    super(message);
  }
}

/** Nothing answered at all. */
export class Unreachable extends Error {
  readonly fix = 'Is `headwater up` running? This page tries again every two seconds.';
  constructor() {
    super('Headwater does not answer.');
  }
}

const KEY = 'headwater-key';

interface Wanted {
  /** What was refused; empty where the user asks by themselves. */
  why: string;
}

let wanted: Wanted | null = null;
let isLeft = false; // the user has closed the question: it comes back with another key only
const asked = new Set<() => void>();
const changed = new Set<() => void>();

export const key = {
  get: () => sessionStorage.getItem(KEY),
  /** Keep a key for as long as the tab lives. */
  set: (value: string) => become(value),
  forget: () => become(null),
  /** Whether a key is asked for, and why. */
  wanted: () => wanted,
  /** Ask for a key. */
  ask: (why: string) => want({ why }),
  /** Go on with the key that is there. */
  leave: () => {
    isLeft = true;
    want(null);
  },
  subscribe: (listener: () => void) => listening(asked, listener),
  /** Hear of another key; the answer ends it. */
  whenChanged: (listener: () => void) => listening(changed, listener),
};

function listening(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function want(value: Wanted | null): void {
  wanted = value;
  for (const listener of asked) listener();
}

function become(value: string | null): void {
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
  isLeft = false;
  want(null);
  for (const listener of changed) listener();
}

/** Shows that this page sends it: who has signed in changes nothing without. */
const OF_SESSION = { 'x-headwater-session': '1' };

const OF_JSON = { 'content-type': 'application/json' };

export function headers(): Record<string, string> {
  const value = key.get();
  return value ? { authorization: `Bearer ${value}` } : OF_SESSION;
}

/** Write a query: what is empty is left out, lists come several times. */
export function queryText(query: object): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(query as Query))
    for (const each of Array.isArray(value) ? value : [value as Exclude<Value, readonly string[]>])
      if (each !== undefined && each !== null && each !== '') written.append(name, String(each));
  const text = written.toString();
  return text && `?${text}`;
}

/** A name as one part of an address; half a character, which none can hold, is written as queries write it. */
export const part = (name: string): string => encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\ufffd'));

interface Options {
  method?: string;
  signal?: AbortSignal;
  body?: string;
}

/** Ask an address; throws Refused or Unreachable. */
export async function request<T>(path: string, query: object = {}, options: Options = {}): Promise<T> {
  const answer = await fetched(path, query, options);
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw refusal(answer.status, body);
  return body as T;
}

/** The contract of a dataset as a file; throws as `request` does. */
export async function contractFile(asked: { namespace: string; dataset: string }): Promise<Blob> {
  const answer = await fetched('/api/headwater/v1/contract.yml', asked, {});
  if (!answer.ok) throw refusal(answer.status, await answer.json().catch(() => null));
  return answer.blob();
}

async function fetched(path: string, query: object, options: Options): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path + queryText(query), { ...options, headers: options.body === undefined ? headers() : { ...headers(), ...OF_JSON } });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (answer.status === 401 && !isLeft) want({ why: key.get() === null ? 'Headwater has keys.' : 'That key was not taken: it is wrong, or has ended.' });
  return answer;
}

function refusal(status: number, body: unknown): Error {
  if (body === null || typeof body !== 'object') return new Unreachable(); // a proxy's own page, or nothing
  const said = body as { error?: string; message?: string; fix?: string; nearest?: string[] };
  return new Refused(status, said.error ?? said.message ?? `Status ${status}.`, said.fix ?? FIXES[status] ?? '', said.nearest);
}

const FIXES: Record<number, string> = {
  401: 'Give a key with the role `read`.',
  404: 'Search for it: press Ctrl-K.',
  503: 'Headwater is not that far yet; this page asks again.',
};

/** Ask a question of our own API. */
export function ask<N extends Question>(name: N, query: Asked<N>, signal?: AbortSignal): Promise<Answer<N>> {
  return request<Answer<N>>(`/api/headwater/v1/${name}`, query, signal ? { signal } : {});
}

/** Tell whether asking again may help without the user doing anything. */
export function mayPass(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && error.status >= 500);
}
