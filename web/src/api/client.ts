// The API client: requests, the user's key, and errors with advice.
import type { components, operations, paths } from './schema';

export type Schemas = components['schemas'];

type Base = '/api/headwater/v1/';
type Names<P> = P extends `${Base}${infer Name}` ? Name : never;
type Get<N extends string> = paths[`${Base}${N}` & keyof paths] extends { get: infer Operation } ? Operation : never;
type Json<O> = O extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never;
type OperationQuery<O> = O extends { parameters: { query?: infer Query } } ? NonNullable<Query> : never;

/** The questions of the Headwater API whose path has no parameter. */
export type Question = Exclude<Names<keyof paths>, `${string}{${string}` | 'live' | 'rejected/retry' | 'keys/add' | 'contract.yml'>;
export type Answer<N extends Question> = Json<Get<N>>;
export type QuestionParameters<N extends Question> = Partial<Record<keyof OperationQuery<Get<N>>, Value>>;
export type RetryResult = Json<operations['rejected-retry']>;

type Value = string | number | readonly string[] | undefined | null;
export type Query = Readonly<Record<string, Value>>;

/** Headwater responded with an error. Contains the message and the advice of the response. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fix: string,
    readonly nearest: readonly string[] = [],
  ) {
    super(message);
  }
}

/** Headwater did not respond. */
export class Unreachable extends Error {
  readonly fix = 'Is `headwater up` running? This page tries again every two seconds.';
  constructor() {
    super('Headwater does not respond.');
  }
}

const KEY = 'headwater-key';

interface KeyPrompt {
  /** The error that opened the dialog; empty if the user opened the dialog. */
  why: string;
}

let prompt: KeyPrompt | null = null;
let isDismissed = false; // the user closed the dialog; it does not open again until the key changes
const promptListeners = new Set<() => void>();
const keyListeners = new Set<() => void>();

export const key = {
  get: () => sessionStorage.getItem(KEY),
  /** Store a key until the tab closes. */
  set: (value: string) => changeKey(value),
  forget: () => changeKey(null),
  /** The open key dialog, or null. */
  prompt: () => prompt,
  /** Open the key dialog. */
  openPrompt: (why: string) => setPrompt({ why }),
  /** Close the dialog and continue with the current key. */
  closePrompt: () => {
    isDismissed = true;
    setPrompt(null);
  },
  subscribe: (listener: () => void) => subscribe(promptListeners, listener),
  /** Listen for a change of the key. Returns a function that stops listening. */
  onChange: (listener: () => void) => subscribe(keyListeners, listener),
};

function subscribe(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setPrompt(value: KeyPrompt | null): void {
  prompt = value;
  for (const listener of promptListeners) listener();
}

function changeKey(value: string | null): void {
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
  isDismissed = false;
  setPrompt(null);
  for (const listener of keyListeners) listener();
}

/** Proves that this page sends the request. The server requires it for changes in a signed-in session. */
const SESSION_HEADER = { 'x-headwater-session': '1' };

const JSON_HEADER = { 'content-type': 'application/json' };

export function headers(): Record<string, string> {
  const value = key.get();
  return value ? { authorization: `Bearer ${value}` } : SESSION_HEADER;
}

/** Format a query string. Empty values are left out. A list becomes one parameter per item, all with the same name. */
export function queryText(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query as Query))
    for (const each of Array.isArray(value) ? value : [value as Exclude<Value, readonly string[]>])
      if (each !== undefined && each !== null && each !== '') search.append(name, String(each));
  const text = search.toString();
  return text && `?${text}`;
}

/** Encode a name as one path segment. Lone surrogates, which URLs cannot contain, become U+FFFD as in query strings. */
export const part = (name: string): string => encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\ufffd'));

interface Options {
  method?: string;
  signal?: AbortSignal;
  body?: string;
}

/** Send a request and parse the JSON answer. Throws ApiError or Unreachable. */
export async function request<T>(path: string, query: object = {}, options: Options = {}): Promise<T> {
  const answer = await send(path, query, options);
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw errorOf(answer.status, body);
  return body as T;
}

/** Fetch the contract of a dataset as a file. Throws ApiError or Unreachable. */
export async function contractFile(parameters: { namespace: string; dataset: string }): Promise<Blob> {
  const answer = await send('/api/headwater/v1/contract.yml', parameters, {});
  if (!answer.ok) throw errorOf(answer.status, await answer.json().catch(() => null));
  return answer.blob();
}

async function send(path: string, query: object, options: Options): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path + queryText(query), { ...options, headers: options.body === undefined ? headers() : { ...headers(), ...JSON_HEADER } });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (answer.status === 401 && !isDismissed) setPrompt({ why: key.get() === null ? 'This server requires a key.' : 'The server rejected this key: it is wrong, revoked or expired.' });
  return answer;
}

function errorOf(status: number, body: unknown): Error {
  if (body === null || typeof body !== 'object') return new Unreachable(); // the body is empty or an error page of a proxy
  const content = body as { error?: string; message?: string; fix?: string; nearest?: string[] };
  return new ApiError(status, content.error ?? content.message ?? `Status ${status}.`, content.fix ?? FIXES[status] ?? '', content.nearest);
}

const FIXES: Record<number, string> = {
  401: 'Enter a key with the role `read`.',
  404: 'Press Ctrl-K to search for it.',
  503: 'Headwater is still starting. This page tries again.',
};

/** Ask a question of the Headwater API. */
export function ask<N extends Question>(name: N, query: QuestionParameters<N>, signal?: AbortSignal): Promise<Answer<N>> {
  return request<Answer<N>>(`/api/headwater/v1/${name}`, query, signal ? { signal } : {});
}

/** Whether the error is temporary, so that repeating the request may help. */
export function isTransient(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof ApiError && error.status >= 500);
}
