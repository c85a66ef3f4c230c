import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { Patience } from "./patience.ts";

type Request = MessageOf<"ContentFetchRequest">;
type Response = MessageOf<"ContentFetchResponse">;

interface Pending {
  readonly request: Request;
  /** Shared by all callers that make the same request. */
  readonly answer: Promise<Response | undefined>;
  readonly resolve: (response: Response | undefined) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Fetches single contents, or pieces of them, from the peer of a channel. */
export class ContentFetch {
  readonly #channel: Channel;
  readonly #pending = new Map<string, Pending>();
  readonly #patience: Patience;
  #hasAsked = false;
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
    this.#patience = new Patience(channel);
  }

  /** True once a request was made. A message that arrives before the first request cannot be an answer. */
  get hasAsked(): boolean {
    return this.#hasAsked;
  }

  /**
   * Fetches a content, or the list of its chunks (`chunk_manifest`) if the content is large. If `piece` is given,
   * fetches only that piece. Resolves to `undefined` if the peer does not have the content. Does not compare the
   * content with its hash. Concurrent requests for the same piece of a content share one answer. Rejects with
   * `UNAVAILABLE` if the session ends.
   */
  get(content_hash: Hash, piece?: { readonly offset: number; readonly length: number }): Promise<Response | undefined> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    this.#hasAsked = true;
    const request: Request = { type: "ContentFetchRequest", content_hash, ...piece };
    const key = keyOf(request);
    const asked = this.#pending.get(key);
    if (asked?.request.length === piece?.length && asked !== undefined) return asked.answer;
    // A request with the same offset and another length is pending. An answer does not name the requested length, so
    // only one of the two requests can be pending.
    if (asked !== undefined) return asked.answer.then(() => this.get(content_hash, piece));
    const { promise: answer, resolve, reject } = Promise.withResolvers<Response | undefined>();
    this.#pending.set(key, { request, answer, resolve, reject });
    this.#ask(request);
    return answer;
  }

  /**
   * Takes an answer. Ignores an answer for which no request waits, because a repeated request can be answered twice.
   */
  took(message: Response | MessageOf<"ContentNotFound">): void {
    this.#patience.heard();
    if (message.type === "ContentNotFound") return this.#notFound(message.content_hash);
    const whole = keyOf({ content_hash: message.content_hash });
    const isWhole = message.chunk_manifest !== undefined || message.content.length === message.size;
    const key = isWhole && this.#pending.has(whole) ? whole : keyOf(message);
    const pending = this.#pending.get(key);
    if (pending === undefined || (message.chunk_manifest !== undefined && key !== whole)) return;
    this.#pending.delete(key);
    pending.resolve(message);
  }

  /** Must be called with each heartbeat. Repeats the pending requests if they are overdue. */
  beat(): void {
    if (!this.#patience.isOver()) return;
    for (const { request } of this.#pending.values()) this.#ask(request);
  }

  /** Must be called at the end of the session. Rejects all pending requests. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before all contents had come");
    for (const { reject } of this.#pending.values()) reject(this.#end);
    this.#pending.clear();
  }

  #notFound(hash: Hash): void {
    for (const [key, pending] of this.#pending) {
      if (pending.request.content_hash !== hash) continue;
      this.#pending.delete(key);
      pending.resolve(undefined);
    }
  }

  #ask(request: Request): void {
    // Ignore the error. When the channel ends, the session ends, too, and calls `end`.
    this.#channel.send(request).catch(() => undefined);
  }
}

function keyOf({
  content_hash,
  offset,
}: {
  readonly content_hash: Hash;
  readonly offset?: number | undefined;
}): string {
  return offset === undefined ? content_hash : `${content_hash}@${offset}`;
}
