import { MAX_PAGE } from "../api/routes/pages.ts";
import type { Page, ReplyShapes } from "../api/routes/reply-shapes.ts";
import type { AnswerOf, Asking, Call } from "../api/routes/route.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { WireReply } from "./transport.ts";
import type { Ask, Wire } from "./wire.ts";
import { optional } from "../util/optional.ts";

type OneReply =
  | { readonly json: keyof ReplyShapes; readonly status?: 201; readonly orNull?: true }
  | { readonly nothing: true };
type PageReply<K extends keyof ReplyShapes> = { readonly pageOf: K };
type ContentCall<Args extends readonly unknown[]> = Call<Args, object, unknown, { readonly content: true }>;

/** Calls rows of the table. `params` are added to every call. */
export class Caller {
  readonly wire: Wire;
  readonly #params: Readonly<Record<string, string>>;
  readonly #ended = new AbortController();
  #closed = false;

  constructor(wire: Wire, params: Readonly<Record<string, string>> = {}) {
    this.wire = wire;
    this.#params = params;
  }

  /** Aborted when the caller is closed. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Resolves to the answer of a call. */
  one<Args extends readonly unknown[], Reply extends OneReply>(
    call: Call<Args, object, unknown, Reply>,
    ...args: Args
  ): Promise<AnswerOf<Reply>> {
    return this.#whileOpen(() => this.wire.json({ call, asking: this.#asking(call, args) }));
  }

  /** Resolves to all items of a list, page by page; at most `most` of them. */
  async all<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: Call<Args, object, unknown, PageReply<K>>,
    args: Args,
    most = Number.POSITIVE_INFINITY,
  ): Promise<ReplyShapes[K][]> {
    const items: ReplyShapes[K][] = [];
    for await (const item of this.each(call, args, most)) items.push(item);
    return items;
  }

  /** Yields the items of a list as its pages arrive. */
  async *each<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: Call<Args, object, unknown, PageReply<K>>,
    args: Args,
    most = Number.POSITIVE_INFINITY,
  ): AsyncIterable<ReplyShapes[K]> {
    let left = most;
    for (let cursor: string | null | undefined; cursor !== null && left > 0;) {
      const page = await this.#page(call, args, { limit: Math.min(left, MAX_PAGE), cursor });
      yield* page.items;
      left -= page.items.length;
      cursor = page.next;
    }
  }

  /** Opens a content for reading. */
  content<Args extends readonly unknown[]>(
    call: ContentCall<Args>,
    args: Args,
    range?: Ask["range"],
  ): Promise<WireReply> {
    const asking = this.#asking(call, args);
    return this.#whileOpen(() => this.wire.open({ call, asking, ...optional({ range }) }));
  }

  close(): void {
    this.#closed = true;
    this.#ended.abort();
  }

  /** Returns a call's request, with the common params. */
  #asking<Args extends readonly unknown[]>(
    call: Pick<Call<Args, object, unknown, never>, "ask">,
    args: Args,
  ): Asking<object, unknown> {
    const asking = call.ask(...args);
    return { ...asking, params: { ...this.#params, ...asking.params } };
  }

  #page<Args extends readonly unknown[], K extends keyof ReplyShapes>(
    call: Call<Args, object, unknown, PageReply<K>>,
    args: Args,
    { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
  ): Promise<Page<ReplyShapes[K]>> {
    const page = cursor === undefined ? { limit } : { limit, cursor };
    return this.#whileOpen(() => this.wire.json({ call, asking: this.#asking(call, args), page }));
  }

  async #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    return work();
  }
}
