import { ChronicleError } from "../core/values/errors.ts";

export interface WireRequest {
  readonly method: string;
  /** The encoded path and query: `/v1/workspaces/…?…`. */
  readonly target: string;
  /** The headers, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Aborts the request, even while the body of its reply is read. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A reply. A reply may be a redirect, because the transport follows no redirects. The caller must either read or
 * discard the body.
 */
export interface WireReply {
  readonly status: number;
  /** Returns the value of a header. `name` is in lower case. */
  header(name: string): string | undefined;
  /** The pieces of the body as they arrive. Throws `UNAVAILABLE` if the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

export interface Transport {
  /** Sends a request. Throws `UNAVAILABLE` if no server answers, and if `signal` aborts the request. */
  send(request: WireRequest): Promise<WireReply>;
  /** Closes all connections, including those that are in use. Does nothing in a transport over `fetch`. */
  close(): Promise<void>;
}

type Content = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * True if the content is bytes in memory. Unlike `instanceof`, this test also accepts bytes of another realm, such as a
 * frame or a test environment.
 */
export function isBytes(content: Content | undefined): content is Uint8Array {
  return ArrayBuffer.isView(content);
}

/**
 * Returns the error for a server that does not answer or has stopped answering. The error has `data.lasting` if a retry
 * would not help. A retry would not help if the server does not speak TLS, or if its certificate is untrusted, not
 * valid now, or for another name.
 */
export function unavailable(where: string, cause: unknown): ChronicleError {
  const code = codeOf(cause);
  const outOfTime = OUT_OF_TIME[code];
  if (outOfTime !== undefined) {
    return lasting(`${where} answers, but its certificate ${outOfTime}`, cause, {
      hint: "give the server a new certificate, or set the clock of this machine right",
    });
  }
  if (UNTRUSTED.test(code)) {
    return lasting(`${where} answers, but its certificate is not trusted here: ${reasonOf(cause)}`, cause, {
      hint: "if it is the right certificate, trust its issuer: in Node, set NODE_EXTRA_CA_CERTS=FILE (PEM) before the program starts",
    });
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return lasting(`${where} answers, but its certificate is for another name`, cause, {
      hint: "use a host name that the certificate has",
    });
  }
  if (NO_TLS.has(code)) {
    return lasting(`${where} answers, but does not speak TLS`, cause, { hint: "use http:// for this server" });
  }
  const reason = reasonOf(cause);
  return new ChronicleError("UNAVAILABLE", `${where} does not answer${reason === "" ? "" : `: ${reason}`}`, {
    hint: "is `chronicle serve` running there?",
    cause,
  });
}

/** Maps OpenSSL's error code for a certificate that is not valid now to the end of the error message. */
const OUT_OF_TIME: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
};

/** The error codes of OpenSSL and Node for an untrusted certificate. */
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+)$/;
const NO_TLS: ReadonlySet<string> = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
  "EPROTO",
]);

/**
 * The statuses of redirects. The client follows no redirect, so that a token reaches only the server for which it is
 * meant.
 */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns the error for a reply that redirects; `undefined` for other replies. */
export function redirected({ status, header }: Pick<WireReply, "status" | "header">): ChronicleError | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const to = header("location");
  return lasting(`the server redirects${to === undefined ? "" : ` to ${to}`}, which is not followed`, undefined, {
    hint: "if the server is at that address, give that address",
  });
}

function lasting(message: string, cause: unknown, { hint }: { readonly hint: string }): ChronicleError {
  return new ChronicleError("UNAVAILABLE", message, { hint, cause, data: { lasting: true } });
}

/**
 * Returns the cause of an error, or the error itself if it has no cause. Errors of `fetch` give their reason only in
 * the cause.
 */
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
  // Remove the advice that Node appends to the message.
  return told.split(/[;\n]/, 1)[0] ?? "";
}
