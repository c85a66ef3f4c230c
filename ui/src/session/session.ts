/**
 * The key of this tab's token in `sessionStorage`. The browser removes the token when the tab is closed. Unlike a
 * cookie, the token is never sent to servers on other ports of this machine.
 */
const KEY = "chronicle.token";

/** Returns the token of this tab; `undefined` if the tab has no token. */
export function storedToken(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

/**
 * True if the token of this tab came from an address of `chronicle ui`. Such a token is valid until the server ends.
 */
export function isPageToken(): boolean {
  return storedToken()?.startsWith("chr_page_") === true;
}

export function storeToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
}

/** True if the address has a one-time code. */
export function hasCode(): boolean {
  return new URLSearchParams(location.hash.slice(1)).has("code");
}

/** The reason why a one-time code was not exchanged, with the next step. */
class CodeRefused extends Error {}

/**
 * Exchanges the one-time code of the address for a token, and stores the token. Removes the code from the address
 * first, so that no copy of the address has the code. Does nothing if the address has no code. Throws `CodeRefused` for
 * a code that was used before or has expired.
 */
export async function exchangeCode(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  const response = await fetch("/page/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
    credentials: "omit",
    cache: "no-store",
  });
  const answer = (await response.json().catch(() => ({}))) as { token?: unknown; detail?: unknown };
  if (typeof answer.token === "string") return storeToken(answer.token);
  if (storedToken() !== undefined) return;
  throw new CodeRefused(typeof answer.detail === "string" ? answer.detail : "the server did not accept this address");
}
