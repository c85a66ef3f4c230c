import { describe, expect, it } from "vitest";
import { hashToken } from "../callers/token.ts";
import { CODE_MS, IDLE_MS, MOST_TOKENS, PageSessions } from "./page-sessions.ts";

function sessions(): { readonly sessions: PageSessions; readonly wait: (ms: number) => void } {
  let now = 1_000_000;
  return { sessions: new PageSessions(() => now), wait: (ms) => (now += ms) };
}

describe("the codes of the page", () => {
  it("are exchanged for the token of an operator of the whole store", () => {
    const { sessions: made } = sessions();
    const token = made.exchange(made.newCode()) ?? "";
    expect(token).toMatch(/^chr_page_[\w-]{43}$/);
    expect(made.find(hashToken(token))).toMatchObject({ role: "operator", workspaces: null, name: "page" });
    expect(made.find(hashToken(`${token}x`))).toBeUndefined();
  });

  it("have 256 random bits, and are used once", () => {
    const { sessions: made } = sessions();
    const codes = [made.newCode(), made.newCode()];
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) {
      expect(Buffer.from(code, "base64url")).toHaveLength(32);
      expect(made.exchange(code)).toBeDefined();
      expect(made.exchange(code)).toBeUndefined();
    }
  });

  it("end after five minutes", () => {
    const { sessions: made, wait } = sessions();
    const [early, late] = [made.newCode(), made.newCode()];
    wait(CODE_MS - 1);
    expect(made.exchange(early)).toBeDefined();
    wait(1);
    expect(made.exchange(late)).toBeUndefined();
  });

  it("know the place for which they were made, until they are used", () => {
    const { sessions: made } = sessions();
    const [bound, free] = [made.newCode("127.0.0.1:7421"), made.newCode()];
    expect([bound, free, "unknown"].map((code) => made.placeOf(code))).toEqual([
      "127.0.0.1:7421",
      undefined,
      undefined,
    ]);
    made.exchange(bound);
    expect(made.placeOf(bound)).toBeUndefined();
  });

  it("are not guessed", () => {
    const { sessions: made } = sessions();
    const code = made.newCode();
    for (const wrong of ["", "x", code.slice(1), `${code} `, code.toLowerCase()]) {
      expect(made.exchange(wrong)).toBeUndefined();
    }
    expect(made.exchange(code)).toBeDefined();
  });
});

describe("the tokens of the page", () => {
  const newToken = (made: PageSessions): string => hashToken(made.exchange(made.newCode()) ?? "");

  it("end when they are idle, and not while they are used", () => {
    const { sessions: made, wait } = sessions();
    const [idle, used] = [newToken(made), newToken(made)];
    wait(IDLE_MS - 1);
    expect(made.find(used)).toBeDefined();
    wait(1);
    expect(made.find(idle)).toBeUndefined();
    wait(IDLE_MS - 2);
    expect(made.find(used)).toBeDefined();
  });

  it("are bounded in number: those that were not used for longest end", () => {
    const { sessions: made } = sessions();
    const [first, second] = [newToken(made), newToken(made)];
    for (let n = 2; n < MOST_TOKENS; n += 1) newToken(made);
    expect(made.find(first)).toBeDefined();
    newToken(made);
    expect(made.find(second)).toBeUndefined();
    expect(made.find(first)).toBeDefined();
  });
});
