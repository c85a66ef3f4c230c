import { ChronicleError } from "../core/values/errors.ts";

/** A request in its encoded form. */
export interface WireRequest {
  readonly method: string;
  /** Path and query: `/v1/workspaces/…?…`. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Aborts the request, also while its answer is being read. */
  readonly signal?: AbortSignal | undefined;
}

/** A reply. Its body must be either read or discarded. */
export interface WireReply {
  readonly status: number;
  /** Returns a header, by its name in lower case. */
  header(name: string): string | undefined;
  /** The body in pieces, as they arrive. Throws `UNAVAILABLE` when it is cut off. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the rest of the body. */
  discard(): Promise<void>;
}

/** Sends requests to a server. */
export interface Transport {
  /** Sends a request. Throws `UNAVAILABLE` when no server answers, and when `signal` aborts it. */
  send(request: WireRequest): Promise<WireReply>;
  /** Closes idle connections. */
  close(): Promise<void>;
}

type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** True if the content is bytes in memory, also those of another realm, such as a frame's or a test environment's. */
export function isBytes(content: Content | undefined): content is Uint8Array {
  return ArrayBuffer.isView(content);
}

/**
 * Returns the error for a server that does not answer, or no longer. It is lasting if the server answers, but with a
 * certificate or a protocol that does not fit: a retry would not help.
 */
export function unavailable(where: string, cause: unknown): ChronicleError {
  const code = codeOf(cause);
  if (UNTRUSTED.test(code)) {
    return lasting(`${where} answers, but its certificate is not trusted here: ${reasonOf(cause)}`, cause, {
      hint: "if it is the right one, trust who has issued it: in Node NODE_EXTRA_CA_CERTS=FILE (PEM), before the program starts",
    });
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return lasting(`${where} answers, but its certificate is for another name`, cause, {
      hint: "ask for it by a name that its certificate has",
    });
  }
  if (NO_TLS.has(code)) {
    return lasting(`${where} answers, but does not speak TLS`, cause, { hint: "use http:// for it" });
  }
  const reason = reasonOf(cause);
  return new ChronicleError("UNAVAILABLE", `${where} does not answer${reason === "" ? "" : `: ${reason}`}`, {
    hint: "is `chronicle serve` running there?",
    cause,
  });
}

/** The error codes of OpenSSL and Node for an untrusted certificate. */
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+)$/;
const NO_TLS: ReadonlySet<string> = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
  "EPROTO",
]);

function lasting(message: string, cause: unknown, { hint }: { readonly hint: string }): ChronicleError {
  return new ChronicleError("UNAVAILABLE", message, { hint, cause, data: { lasting: true } });
}

/** Returns the cause of an error, since `fetch` says only that it failed. */
function behind(cause: unknown): unknown {
  return cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
}

function codeOf(cause: unknown): string {
  const error = behind(cause);
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : "";
  const error = behind(cause);
  const told = error instanceof Error && error.message !== "" ? error.message : cause.message;
  // Cuts off Node's own advice.
  return told.split(/[;\n]/, 1)[0] ?? "";
}
