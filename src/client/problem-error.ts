import { isErrorCode } from "../api/problems.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";

/** The error codes for statuses from a server that is not Chronicle, or a newer version of it. */
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

/** Returns the error that a problem (RFC 9457) describes, with the same code, hint and data. */
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

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    // Not a problem of Chronicle's: only the status is known.
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
