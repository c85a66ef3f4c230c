import { describe, expect, it } from "vitest";
import { withVisible } from "./invisible.ts";

const shown = (text: string): string => withVisible(text, (char) => `<${(char.codePointAt(0) ?? 0).toString(16)}>`);

describe("invisible characters", () => {
  it.each([
    ["a\u200bb", "a<200b>b"],
    ["\u061c\u2060\ufeff", "<61c><2060><feff>"],
    ["a\u{e0041}\u{e007f}", "a<e0041><e007f>"],
    ["a\u200db\u200cc", "a<200d>b<200c>c"],
    ["a\ufe0f\u{e0100}", "a<fe0f><e0100>"],
    ["\u034f\u115f\u3164\u00ad", "<34f><115f><3164><ad>"],
    ["\ud800\n\u0085\u2028", "<d800><a><85><2028>"],
    ["👍\u200d👍\u200d", "👍\u200d👍<200d>"],
  ])("%j is shown as %s", (text, visible) => expect(shown(text)).toBe(visible));

  it.each(["❤️", "👨‍👩‍👧", "👩🏽‍🚀", "🏳️‍🌈", "1️⃣", "می‌خواهم", "क्‍ष", "é", "日本"])("%s is unchanged", (text) => {
    expect(shown(text)).toBe(text);
  });
});
