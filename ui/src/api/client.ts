// Calls of the REST API, typed by its OpenAPI document. An answer that is an error becomes an
// ApiError; a server that cannot be reached an AwayError, which `connection` is told of.
import {reportAnswer, reportAway} from './connection';
import type {paths} from './generated/openapi';
import type {Problem} from './types';

export class ApiError extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.status = problem.status;
    this.problem = problem;
  }
}

export class AwayError extends Error {
  constructor() {
    super('the server cannot be reached');
  }
}

type Method = 'get' | 'post' | 'delete';
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, infer Found> ? Found : never;
type QueryOf<O> = O extends {parameters: {query?: infer Q}} ? Q : never;
type PathOf<O> = O extends {parameters: {path: infer Q}} ? Q : never;
type JsonOf<R> = R extends {content: {'application/json': infer Body}} ? Body : never;
type AnswerOf<O> = O extends {responses: infer R}
  ? {[Status in keyof R]: Status extends 200 | 201 ? JsonOf<R[Status]> : never}[keyof R]
  : never;

export interface CallOptions<O> {
  path?: PathOf<O>;
  query?: QueryOf<O>;
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function get<P extends PathsWith<'get'>>(
  path: P,
  options: CallOptions<Operation<P, 'get'>> = {},
): Promise<AnswerOf<Operation<P, 'get'>>> {
  return call('GET', path, options);
}

export function post<P extends PathsWith<'post'>>(
  path: P,
  options: CallOptions<Operation<P, 'post'>> = {},
): Promise<AnswerOf<Operation<P, 'post'>>> {
  return call('POST', path, options);
}

export function remove<P extends PathsWith<'delete'>>(
  path: P,
  options: CallOptions<Operation<P, 'delete'>> = {},
): Promise<void> {
  return call('DELETE', path, options);
}

// The address of a call: "{id}" filled in, the query appended. Values that are undefined, null or
// "" are left out.
export function addressOf(path: string, names: object = {}, query: object = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((names as Record<string, unknown>)[name])),
  );
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') parameters.append(name, String(one));
    }
  }
  const text = parameters.toString();
  return text ? `${filled}?${text}` : filled;
}

// What `call` needs of CallOptions, whichever operation they are of.
interface AnyOptions {
  path?: unknown;
  query?: unknown;
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function call<T>(method: string, path: string, options: AnyOptions): Promise<T> {
  const address = addressOf(
    path,
    (options.path ?? {}) as object,
    (options.query ?? {}) as object,
  );
  const answer = await send(address, {
    method,
    ...(options.body === undefined ? {} : {body: options.body}),
    ...(options.signal ? {signal: options.signal} : {}),
    headers: {Accept: 'application/json', ...options.headers},
  });
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

// A fetch whose answer is a success, or it throws.
export async function send(address: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(address, {cache: 'no-store', ...init});
  } catch (error) {
    if (init.signal?.aborted) throw error;
    reportAway();
    throw new AwayError();
  }
  reportAnswer();
  if (!answer.ok) throw new ApiError(await problemOf(answer));
  return answer;
}

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as Problem;
    if (typeof body.title === 'string') return {...body, errors: body.errors ?? []};
  } catch {
    // No problem document: something between us and the server answered.
  }
  const title = answer.statusText || `HTTP ${answer.status}`;
  return {type: 'about:blank', title, status: answer.status, detail: title, code: '', errors: []};
}

export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
