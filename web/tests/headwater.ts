// Runs `headwater up` as a child process of the tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as rest } from 'node:timers/promises';

export const ROOT = resolve(import.meta.dirname, '../..');
export const PYTHON = join(ROOT, '.venv/bin/python');

const TAGS = 'version: 1\ntags:\n  - dataset: "*"\n    column: "customer_email"\n    tag: pii\n';
/** One sink that works, and one whose target is unreachable. */
export const SINKS = `version: 1
sinks:
  archive: {type: file, folder: FOLDER, every: 1s}
  catalog: {type: datahub, url: 'http://127.0.0.1:9', every: 1s}
`;
/** Files of the contracts folder: a contract that holds, a broken one, an invalid file, and policies. */
export const CONTRACTS: Record<string, string> = {
  'kept.yml': contract('{name: customer_email, physicalType: string}'),
  'broken.yml': contract('{name: customer_email, physicalType: int}, {name: fax}'),
  'unreadable.yml': 'kind: [',
  'policies.yml': 'version: 1\npolicies:\n  mail is masked: {masked: ["*/bronze/customers#customer_email"]}\n',
};

function contract(properties: string): string {
  return `apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
schema: [{name: customers, physicalName: 3eb04867-0000-4000-8000-0000000000b1/Tables/bronze/customers, properties: [${properties}]}]
`;
}

const WAIT_MS = 60_000;
const REST_MS = 20; // polling faster would slow down the process that the test waits for

type Json = Record<string, unknown>;

export class Headwater {
  private process: ChildProcess | undefined;
  private port = 0;
  private readonly folder = mkdtempSync(join(tmpdir(), 'headwater-page-'));

  /** sinks: the content of sinks.yml; contracts: the files of the contracts folder. */
  constructor(private readonly environment: Record<string, string> = {}, sinks = '', contracts: Record<string, string> = {}) {
    mkdirSync(join(this.folder, 'rules'));
    writeFileSync(join(this.folder, 'rules/tags.yaml'), TAGS);
    mkdirSync(join(this.folder, 'contracts'));
    for (const [name, text] of Object.entries(contracts)) writeFileSync(join(this.folder, 'contracts', name), text);
    if (sinks) writeFileSync(join(this.folder, 'sinks.yml'), sinks.replace('FOLDER', join(this.folder, 'archive')));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Start on the same port as before, if there was one; resolves when the server listens. */
  async start(): Promise<this> {
    const program = ['-m', 'headwater', 'up', '--data', this.folder, '--port', String(this.port), '--tick', '50ms'];
    this.process = spawn(PYTHON, program, {
      cwd: this.folder, env: { ...process.env, PYTHONPATH: ROOT, ...this.environment }, stdio: ['ignore', 'pipe', 'inherit'],
    }); // prettier-ignore
    if (!this.process.stdout) throw new Error('The output of `headwater up` is not a pipe.');
    for await (const line of createInterface({ input: this.process.stdout })) {
      const found = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
      if (found) {
        this.port = Number(found[1]);
        this.process.stdout.resume();
        return this;
      }
    }
    throw new Error('`headwater up` exited before it listened.');
  }

  /** Suspend one of its processes; the returned function resumes it. */
  hold(role: 'parser' | 'index'): () => void {
    const pid = Number(readFileSync(join(this.folder, `run/${role}.pid`), 'utf8'));
    process.kill(pid, 'SIGSTOP');
    return () => process.kill(pid, 'SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.process?.exitCode !== null) return;
    const ended = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await ended;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Send events and wait until the index contains them. */
  post(events: readonly unknown[], headers: Record<string, string> = {}): Promise<void> {
    return post(this.url, events, headers);
  }
}

export async function post(url: string, events: readonly unknown[], headers: Record<string, string> = {}): Promise<void> {
  const json = { 'content-type': 'application/json', ...headers };
  const answer = await fetch(`${url}/api/v1/lineage/batch`, { method: 'POST', headers: json, body: JSON.stringify(events) });
  if (!answer.ok) throw new Error(await answer.text());
  const last = events.findLast((event) => (event as { run?: Json }).run) as { run: { runId: string } };
  await until(async () => {
    const found = await fetch(`${url}/api/headwater/v1/runs/${last.run.runId}/lineage`, { headers });
    return found.status === 200;
  });
}

export async function ask<T>(url: string, question: string, query: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(`${url}/api/headwater/v1/${question}?${new URLSearchParams(query).toString()}`);
  if (!answer.ok) throw new Error(`${question}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Wait until a condition is true. */
export async function until(done: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT_MS;
  while (!(await done())) {
    if (Date.now() > end) throw new Error(`The condition is still false after ${WAIT_MS} ms: ${done.toString()}`);
    await rest(REST_MS);
  }
}
