import { MAX_PAGE } from "../api/routes/pages.ts";
import type { Page, ReplyShapes } from "../api/routes/reply-shapes.ts";
import type { AnswerOf, Asking, Call } from "../api/routes/route.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { ProgressOptions } from "../api/workspace-api.ts";
import { resultOfSteps } from "./remote-events.ts";
import type { WireReply } from "./transport.ts";
import type { Ask, Wire } from "./wire.ts";
import { optional } from "../util/optional.ts";

type OneReply =
  | { readonly json: keyof ReplyShapes; readonly status?: 201; readonly orNull?: true }
  | { readonly nothing: true };
type PageReply<K extends keyof ReplyShapes> = { readonly pageOf: K };
type OneCall<Args extends readonly unknown[], Reply extends OneReply> = Call<Args, object, unknown, Reply>;
type PageCall<Args extends readonly unknown[], K extends keyof ReplyShapes> = Call<Args, object, unknown, PageReply<K>>;
type StepsCall<Args extends readonly unknown[], K extends keyof ReplyShapes> = Call<
  Args,
  object,
  unknown,
  { readonly events: K; readonly ends: true }
>;
type ResultOf<Shape> = Shape extends { readonly result?: infer Result } ? Exclude<Result, undefined> : never;
type ContentCall<Args extends readonly unknown[]> = Call<Args, object, unknown, { readonly content: true }>;

type PlainCall = OneCall<never, OneReply> | PageCall<never, keyof ReplyShapes>;

/**
 * The type of the method for a call. The method takes the arguments of the call's `ask`. It resolves to the answer or,
 * for a list in pages, to all items.
 */
type MethodOf<C> =
  C extends Call<infer Args, infer _Query, infer _Body, infer Reply>
    ? (...args: Args) => Promise<Reply extends PageReply<infer K> ? ReplyShapes[K][] : AnswerOf<Reply>>
    : never;

/**
 * Returns a base class with a method for each entry of a table of calls. The method has the entry's name and the call's
 * types.
 */
export function requesting<const Table extends Readonly<Record<string, PlainCall>>>(
  table: Table,
): new (requests: Requests) => { readonly [Name in keyof Table]: MethodOf<Table[Name]> } {
  return class {
    constructor(requests: Requests) {
      for (const [name, call] of Object.entries(table)) {
        Reflect.set(this, name, (...args: never) => requests.answer(call, args));
      }
    }
    // The compiler cannot see the methods that the loop sets.
  } as never;
}

/** Sends calls until it is closed. Adds `params` to the parameters of every call. */
export class Requests {
  readonly wire: Wire;
  readonly #params: Readonly<Record<string, string>>;
  readonly #ended = new AbortController();
  #closed = false;

  constructor(wire: Wire, params: Readonly<Record<string, string>> = {}) {
    this.wire = wire;
    this.#params = params;
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  answer(call: PlainCall, args: never): Promise<unknown> {
    return isList(call) ? this.all(call, ...args) : this.one(call, ...args);
  }

  async one<Args extends readonly unknown[], Reply extends OneReply>(
    call: OneCall<Args, Reply>,
    ...args: Args
  ): Promise<AnswerOf<Reply>> {
    const asking = this.#asking(call, args);
    return this.#whileOpen(() => this.wire.json({ call, asking }));
  }

  async all<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: PageCall<Args, K>,
    ...args: Args
  ): Promise<ReplyShapes[K][]> {
    const items: ReplyShapes[K][] = [];
    for await (const item of this.each(call, ...args)) items.push(item);
    return items;
  }

  async *each<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: PageCall<Args, K>,
    ...args: Args
  ): AsyncIterable<ReplyShapes[K]> {
    const { most = Number.POSITIVE_INFINITY, ...asking } = this.#asking(call, args);
    let left = most;
    for (let cursor: string | null | undefined; cursor !== null && left > 0;) {
      const page = { limit: Math.min(left, MAX_PAGE), ...optional({ cursor }) };
      const { items, next }: Page<ReplyShapes[K]> = await this.#whileOpen(() => this.wire.json({ call, asking, page }));
      yield* items;
      left -= items.length;
      cursor = next;
    }
  }

  /** Resolves to the reply. The caller reads its body. */
  content<Args extends readonly unknown[]>(
    call: ContentCall<Args>,
    args: Args,
    range?: Ask["range"],
  ): Promise<WireReply> {
    const asking = this.#asking(call, args);
    return this.#whileOpen(() => this.wire.open({ call, asking, ...optional({ range }) }));
  }

  /** Follows the steps of some work, and resolves to its result. See `resultOfSteps`. */
  result<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: StepsCall<Args, K>,
    args: Args,
    { onProgress, signal }: ProgressOptions & { readonly signal?: AbortSignal },
  ): Promise<ResultOf<ReplyShapes[K]>> {
    const asking = this.#asking(call, args);
    const ended = signal === undefined ? this.ended : AbortSignal.any([signal, this.ended]);
    return this.#whileOpen(() =>
      resultOfSteps(this.wire, { call, asking }, { ...optional({ onProgress }), signal: ended }),
    );
  }

  close(): void {
    this.#closed = true;
    this.#ended.abort();
  }

  #asking<Args extends readonly unknown[]>(
    call: Pick<Call<Args, object, unknown, never>, "ask">,
    args: Args,
  ): Asking<object, unknown> {
    const asking = call.ask(...args);
    return { ...asking, params: { ...this.#params, ...asking.params } };
  }

  async #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    return work();
  }
}

function isList(call: PlainCall): call is PageCall<never, keyof ReplyShapes> {
  return "pageOf" in call.reply;
}
