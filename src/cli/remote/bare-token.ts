import { isLoopback } from "../../server/callers/listener.ts";

/** A warning if a token goes over a network as plain text; else `undefined`. */
export function bareTokenNote(url: string, token: string | undefined): string | undefined {
  if (token === undefined || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || isLoopback(hostname)) return undefined;
  return `whoever listens on the way to ${hostname} can read the token: use https, or a tunnel to the server's own port`;
}
