import { isBytes, type Transport, type WireReply, type WireRequest, unavailable } from "./transport.ts";
import { optional } from "../util/optional.ts";

export type Fetch = typeof globalThis.fetch;

/** Sends requests with `fetch`: the global function of a browser or of Node, or a given function. */
export class FetchTransport implements Transport {
  readonly #base: string;
  readonly #fetch: Fetch;

  /** `base` is a URL without a slash at its end. The target of a request is appended to `base`. */
  constructor(base: string, fetch: Fetch = (...args) => globalThis.fetch(...args)) {
    this.#base = base;
    this.#fetch = fetch;
  }

  async send({ method, target, headers, body, signal }: WireRequest): Promise<WireReply> {
    let response: Response;
    try {
      response = await this.#fetch(`${this.#base}${target}`, {
        method,
        headers: { ...headers },
        ...(await bodyOf(body)),
        ...optional({ signal }),
        // With `"manual"`, `Wire` receives a redirect and can report it. With `"error"`, `fetch` would fail with an
        // error that does not mention the redirect.
        redirect: "manual",
        credentials: "omit",
        cache: "no-store",
      });
    } catch (cause) {
      throw unavailable(this.#base, cause);
    }
    return this.#replyOf(response);
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  #replyOf(response: Response): WireReply {
    return {
      status: statusOf(response),
      header: (name) => response.headers.get(name) ?? undefined,
      body: piecesOf(response, this.#base),
      discard: async () => {
        // Ignore errors of the body, because nobody reads it any further.
        await response.body?.cancel().catch(() => undefined);
      },
    };
  }
}

/** Returns the status of a response. Returns 302 for any redirect in a browser, because browsers hide its status. */
function statusOf({ type, status }: Response): number {
  return type === "opaqueredirect" ? 302 : status;
}

async function* piecesOf({ body }: Response, base: string): AsyncIterable<Uint8Array> {
  if (body === null) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await next(reader, base);
      ended = done;
      if (value !== undefined) yield value;
      if (done) return;
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
  }
}

async function next(reader: ReadableStreamDefaultReader<Uint8Array>, base: string) {
  try {
    return await reader.read();
  } catch (cause) {
    throw unavailable(base, cause);
  }
}

/**
 * True if request bodies are streamed. False in a browser, because not all browsers can stream a body over all
 * connections. In a browser, a body is collected in memory and then sent.
 */
const STREAMS = !("document" in globalThis || "WorkerGlobalScope" in globalThis);

async function bodyOf(
  body: WireRequest["body"],
): Promise<{ body?: NonNullable<RequestInit["body"]>; duplex?: "half" }> {
  if (body === undefined) return {};
  if (isBytes(body)) return { body: body as Uint8Array<ArrayBuffer> };
  if (STREAMS) return { body: streamOf(body), duplex: "half" };
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of body) pieces.push(new Uint8Array(piece));
  return { body: new Blob(pieces) };
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
