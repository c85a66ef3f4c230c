import type { ServerReply } from "./route.ts";

/** Returns a problem in the form of RFC 9457. `code` is stable; `detail` is for people. */
export function problemReply(status: number, code: string, detail: string): ServerReply {
  return {
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ type: "about:blank", title: code, status, code, detail }),
  };
}
