import { isErrorCode } from "../api/problems.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";
import { ACTING, HINTS_HEADER, WITH_COMMANDS } from "../api/routes/content-headers.ts";
import type { AnswerOf, Asking, Call, ReplyKind } from "../api/routes/route.ts";
import type { ActingAs } from "../api/workspace-api.ts";
import { isBytes, redirected, type Transport, type WireReply } from "./transport.ts";
import { RETRY, type RetryRule, retrying } from "./retry.ts";

interface WireOptions {
  readonly token?: string | undefined;
  readonly acting?: ActingAs;
  /** See `ClientOptions.commandHints`. */
  readonly commandHints?: boolean;
  /** True if requests that would change something throw `READ_ONLY`. */
  readonly readOnly?: boolean;
  readonly retry?: RetryRule;
  /**
   * The fields of queries that the server has refused, as `operation field`. All `Wire`s to the same server share this
   * set.
   */
  readonly refused?: Set<string>;
}

export interface Ask {
  readonly call: Pick<Call<never, unknown, unknown, ReplyKind>, "operation" | "method" | "path">;
  readonly asking: Asking<object, unknown>;
  /** The value for `Range`: the bytes from `start` to `end` (exclusive). */
  readonly range?: { readonly start: number; readonly end: number };
  readonly page?: { readonly limit: number; readonly cursor?: string | undefined };
}

/** Turns calls into requests, and replies into answers. Retries requests that are safe to repeat. */
export class Wire {
  readonly #transport: Transport;
  readonly #options: WireOptions;
  readonly #refused: Set<string>;

  constructor(transport: Transport, options: WireOptions = {}) {
    this.#transport = transport;
    this.#options = options;
    this.#refused = options.refused ?? new Set();
  }

  with(options: Pick<WireOptions, "acting" | "readOnly">): Wire {
    const acting = { ...this.#options.acting, ...options.acting };
    return new Wire(this.#transport, { ...this.#options, ...options, acting, refused: this.#refused });
  }

  get acting(): ActingAs {
    return this.#options.acting ?? {};
  }

  get retry(): RetryRule {
    return this.#options.retry ?? RETRY;
  }

  /** Sends a request. Resolves to the JSON answer, or to `undefined` if the reply has no content. */
  async json<Reply extends ReplyKind>(
    ask: Ask & { readonly call: { readonly reply: Reply } },
  ): Promise<AnswerOf<Reply>> {
    const text = await this.#send(ask, async (reply) => ({ status: reply.status, text: await textOf(reply.body) }));
    if (text.status === 204) return undefined as AnswerOf<Reply>;
    try {
      return JSON.parse(text.text) as AnswerOf<Reply>;
    } catch (cause) {
      throw new ChronicleError("UNAVAILABLE", "the reply is not from a Chronicle server", { cause });
    }
  }

  /** Resolves to the reply. The caller reads its body. */
  open(ask: Ask): Promise<WireReply> {
    return this.#send(ask, (reply) => Promise.resolve(reply));
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /**
   * Sends a request. If the server does not know some of the request's `detailFields`, sends the request again without
   * these fields.
   */
  async #send<T>(ask: Ask, read: (reply: WireReply) => Promise<T>): Promise<T> {
    const { detailFields = [] } = ask.asking;
    if (detailFields.length === 0) return this.#sendOnce(ask, read);
    const keyOfField = (field: string): string => `${ask.call.operation} ${field}`;
    for (;;) {
      const query = Object.entries(ask.asking.query ?? {}).filter(([field]) => !this.#refused.has(keyOfField(field)));
      try {
        return await this.#sendOnce({ ...ask, asking: { ...ask.asking, query: Object.fromEntries(query) } }, read);
      } catch (error) {
        const unknown = unknownFields(error).filter((field) => query.some(([sent]) => sent === field));
        if (unknown.length === 0 || !unknown.every((field) => detailFields.includes(field))) throw error;
        for (const field of unknown) this.#refused.add(keyOfField(field));
      }
    }
  }

  async #sendOnce<T>(ask: Ask, read: (reply: WireReply) => Promise<T>): Promise<T> {
    const { call, asking } = ask;
    this.#refuseChange(ask);
    const headers = this.#headersOf(ask);
    const query = { ...asking.query, ...ask.page };
    const target = makeTarget(call.path, asking.params ?? {}, query);
    const { body, failure } = bodyOf(asking);
    let waitFor: number | undefined;
    const once = async (): Promise<T> => {
      waitFor = undefined;
      try {
        const reply = await this.#transport.send({
          method: call.method,
          target,
          headers,
          ...body,
          signal: asking.signal,
        });
        if (reply.status >= 200 && reply.status < 300) return await read(reply);
        const redirect = redirected(reply);
        if (redirect !== undefined) {
          await reply.discard();
          throw redirect;
        }
        waitFor = secondsOf(reply.header("retry-after"));
        throw problemError(reply.status, await textOf(reply.body));
      } catch (error) {
        // If the caller's content threw an error, the request failed because of that error.
        throw failure() ?? error;
      }
    };
    if (isStream(asking.content)) return once();
    return retrying(once, this.retry, { signal: asking.signal, after: () => waitFor });
  }

  #refuseChange({ call, asking }: Ask): void {
    if (this.#options.readOnly !== true || call.method === "GET" || isDryRun(asking)) return;
    throw new ChronicleError("READ_ONLY", `${call.operation} is a change, but this client was opened for reading only`);
  }

  #headersOf({ call, asking, range }: Ask): Record<string, string> {
    const { token, acting = {}, commandHints } = this.#options;
    const { ifMatch, lastEventId, content } = asking;
    const headers: Record<string, string | undefined> = {
      authorization:
        token === undefined ? undefined : `Bearer ${fit(token, /^[\x21-\x7e]+$/, "a token has no spaces")}`,
      [ACTING.actor]: inHeader(acting.actor),
      [ACTING.client]: inHeader(acting.client),
      [ACTING.role]: acting.role === "agent" ? "agent" : undefined,
      [HINTS_HEADER]: commandHints === true ? WITH_COMMANDS : undefined,
      "content-type":
        content === undefined
          ? asking.body === undefined
            ? undefined
            : "application/json"
          : "application/octet-stream",
      // The key identifies the request, so all tries have the same key.
      "idempotency-key": call.method === "GET" ? undefined : keyOf(asking.requestId ?? acting.requestId ?? newKey()),
      "if-match": ifMatch === undefined || ifMatch === "none" ? undefined : matching(ifMatch),
      "if-none-match": ifMatch === "none" ? "*" : undefined,
      "last-event-id": lastEventId === undefined ? undefined : String(lastEventId),
      range: range === undefined ? undefined : `bytes=${range.start}-${range.end - 1}`,
    };
    return Object.fromEntries(
      Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined),
    );
  }
}

function matching(ifMatch: string | readonly string[]): string {
  if (ifMatch === "*") return "*";
  const tags = [ifMatch].flat().map((hash) => `"${hash}"`);
  return fit(tags.join(), /^(?:,?"(?:[0-9a-f]{64})?")+$/, "ifMatch is no hash");
}

function isDryRun({ body }: Asking<object, unknown>): boolean {
  return typeof body === "object" && body !== null && "dry_run" in body && body.dry_run === true;
}

/** Returns a random key. Does not use `randomUUID`, because browsers have this function only on pages with TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Encodes a request id as an `Idempotency-Key`. Different ids never have the same key. Throws `USAGE` if the id is
 * empty or not well-formed, or if the key is longer than 128 characters.
 */
function keyOf(requestId: string): string {
  const isOther = /[^\x21-\x24\x26-\x7e]/.test(requestId) && requestId.isWellFormed();
  const key = isOther ? encodeURIComponent(requestId) : requestId;
  return fit(key, /^[\x21-\x7e]{1,128}$/, "a requestId takes up to 128 characters, percent-encoded");
}

/**
 * Returns a text for a header. Throws `USAGE` if the text does not match `pattern`. Otherwise, the transport would
 * throw an error that looks like a fault of the server.
 */
function fit(text: string, pattern: RegExp, message: string): string {
  if (pattern.test(text)) return text;
  throw new ChronicleError("USAGE", message);
}

function inHeader(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return fit(
    text,
    /^[\x20-\x7e]{1,100}$/,
    "the name of an actor or client takes up to 100 printable characters of ASCII",
  );
}

function secondsOf(header: string | undefined): number | undefined {
  return header === undefined || !/^\d+$/.test(header) ? undefined : Number(header) * 1000;
}

function isStream(content: Asking<object, unknown>["content"]): boolean {
  return content !== undefined && !isBytes(content);
}

interface Body {
  readonly body: { readonly body?: Uint8Array | AsyncIterable<Uint8Array> };
  /** Returns the error that the caller's content threw, if it threw one. */
  readonly failure: () => unknown;
}

function bodyOf({ content, body }: Asking<object, unknown>): Body {
  const none = (): unknown => undefined;
  if (isBytes(content)) return { body: { body: content }, failure: none };
  if (content === undefined) {
    const bytes = body === undefined ? {} : { body: new TextEncoder().encode(JSON.stringify(body)) };
    return { body: bytes, failure: none };
  }
  let failed: unknown;
  const watched = async function* (): AsyncIterable<Uint8Array> {
    try {
      yield* content;
    } catch (error) {
      failed = error;
      throw error;
    }
  };
  return { body: { body: watched() }, failure: () => failed };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/**
 * Maps the status of a reply without a known error code to an error code. Such a reply comes from a proxy, for example,
 * or from a newer version of Chronicle.
 */
const CODE_OF: Readonly<Record<number, ErrorCode>> = {
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "REFUSED",
  412: "PRECONDITION_FAILED",
  413: "LIMIT_EXCEEDED",
  429: "RATE_LIMITED",
  500: "IO",
  501: "PLATFORM_UNSUPPORTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/**
 * Returns the error for a reply with an error status. The error has the code, hint and data of the problem (RFC 9457)
 * in the reply.
 */
export function problemError(status: number, text: string): ChronicleError {
  const problem = parsed(text);
  const { code, detail, title, hint, data } = problem;
  const named = typeof code === "string" && isErrorCode(code) ? code : (CODE_OF[status] ?? "USAGE");
  const message = [detail, title].find((one): one is string => typeof one === "string" && one !== "");
  return new ChronicleError(named, message ?? `the server answered ${status}`, {
    ...(typeof hint === "string" ? { hint } : {}),
    data: isObject(data) ? data : { status },
  });
}

/**
 * Returns the query fields that the server does not know, if the server refused a request because of them. Returns an
 * empty list for any other error.
 */
function unknownFields(error: unknown): string[] {
  if (!(error instanceof ChronicleError) || error.code !== "USAGE") return [];
  const [, names] = /^query: (.+) (?:is|are) not known here$/.exec(error.message) ?? [];
  return names?.split(", ") ?? [];
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    // The body is not a JSON document, so only the status is known.
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Replaces the `{names}` in the pattern by their values, and leaves out query fields that are `undefined`. */
function makeTarget(pattern: string, params: Readonly<Record<string, string>>, query: object): string {
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? "";
    return name === "path" ? urlPath(value) : component(name, value);
  });
  const fields = Object.entries(query).flatMap(([key, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined)
      .map((one) => `${key}=${inUrl(key, String(one))}`),
  );
  return fields.length === 0 ? path : `${path}?${fields.join("&")}`;
}

/**
 * Encodes one component of a path. Throws `USAGE` for an empty component, and for `.` and `..`, because they would be
 * resolved as relative paths.
 */
function component(name: string, value: string): string {
  if (value === "" || value === "." || value === "..") {
    throw new ChronicleError("USAGE", `${JSON.stringify(value)} is no ${name}`);
  }
  return inUrl(name, value);
}

function inUrl(name: string, value: string): string {
  if (value.isWellFormed()) return encodeURIComponent(value);
  const code = name === "path" || name === "file" ? "PATH_INVALID" : "USAGE";
  throw new ChronicleError(code, `${name} is not well-formed text`);
}

const ROOT_MARK = /^@[a-z0-9-]+:/;

/**
 * Encodes a path of a workspace for a URL: each component is percent-encoded. A path with an empty component, `.` or
 * `..` becomes `base64:<bytes>`, so that no proxy resolves the component. The server then reports the path as invalid.
 * Throws `PATH_INVALID` for text that is not well-formed.
 */
export function urlPath(given: string): string {
  if (!given.isWellFormed()) {
    throw new ChronicleError("PATH_INVALID", "the path is refused: it is not well-formed text", {
      hint: "a name that is not UTF-8 is given as base64:<bytes>",
    });
  }
  const [, mark = "", path = ""] = /^(@[a-z0-9-]+:)?(.*)$/s.exec(given) ?? [];
  if (path.startsWith("base64:")) return encoded(mark + path.replaceAll("+", "-").replaceAll("/", "_"));
  const trimmed = path.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  const plain = trimmed === "." ? "" : trimmed;
  // Without its `./`, a name such as `./base64:x` or `./@root:x` would look like a special form of a path. The name is
  // sent as bytes, so that the server takes it literally.
  const parts = plain.split("/");
  const stepping = parts.some((part) => part === "" || part === "." || part === "..");
  const marked = plain.startsWith("base64:") || (mark === "" && ROOT_MARK.test(plain));
  return encoded(mark + (stepping || marked ? `base64:${base64Url(plain)}` : plain));
}

function encoded(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function base64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
