import { describe, expect, it } from "vitest";
import { hashToken } from "../callers/token.ts";
import { CODE_MS, PageSessions } from "./page-sessions.ts";

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

  it("end after five minutes, and tokens do not", () => {
    const { sessions: made, wait } = sessions();
    const [early, late] = [made.newCode(), made.newCode()];
    wait(CODE_MS - 1);
    const token = made.exchange(early) ?? "";
    wait(1);
    expect(made.exchange(late)).toBeUndefined();
    wait(1_000 * CODE_MS);
    expect(made.find(hashToken(token))).toBeDefined();
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
