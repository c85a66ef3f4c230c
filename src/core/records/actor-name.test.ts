import { describe, expect, it } from "vitest";
import { agentName, checkActorName, claimedName } from "./actor-name.ts";

describe("a name that is a person's, or looks like one", () => {
  it.each([
    ...[
      "human",
      "HUMAN",
      "hуman",
      "humаn",
      "hu\u200bman",
      "h\u{e0068}uman",
      "ｈｕｍａｎ",
      "𝐡𝐮𝐦𝐚𝐧",
      "hùmán",
      "ʜᴜᴍᴀɴ",
      "ꓧꓴꓟꓮꓠ",
    ],
    ...["h u m a n", "h*u*m*a*n", "hurnan", "🇭🇺🇲🇦🇳", "🅗🅤🅜🅐🅝", "һυmап", "ΗUMAN"],
    // These names have digits or signs instead of letters, letters with strokes, and phonetic or Coptic letters.
    ...["hum4n", "HUM4N", "hum@n", "ħuman", "ɦumɑɳ", "ɦʊɱɑɳ", "hum∂n", "hu௱an"],
  ])("%j is human", (name) => expect(claimedName(name)).toBe("human"));

  it.each([
    ["оperator", "operator"],
    ["0perator", "operator"],
    ["r日本t", "root"],
    ["adm1n", "admin"],
    ["admln", "admin"],
    ["ѕуѕтем", "system"],
    ["аmbiguous", "ambiguous"],
    ["us℮r", "user"],
    ["us℮r℮", undefined],
    ["p℮rson", "person"],
    ["op€rator", "operator"],
    ["0p3r470r", "operator"],
    ["us3r", "user"],
    ["5y$7em", "system"],
    ["r00t", "root"],
    ["r००t", "root"],
    ["øwner", "owner"],
    ["ⲟⲣⲉrⲁⲧⲟr", "operator"],
    ["ΟᏢЕRАTОR", "operator"],
    ["!", undefined],
    ["4m8!9u0u5", "ambiguous"],
  ])("%j is %s", (name, word) => expect(claimedName(name)).toBe(word));

  it.each([
    ...[
      "claude",
      "codex",
      "gemini",
      "agent",
      "ci",
      "alice",
      "humane",
      "inhuman",
      "operators",
      "user1",
      "root-cause-bot",
      ...["gpt-4", "gpt-4o", "o3", "r2d2", "claude-3-5", "h4x", "pers0", "user 2", "us→r→us", "★", "4", "3"],
      "",
      "*",
    ],
    ...["José", "Мария", "Владимир", "日本語", "ひらがなこ", "ユーザー", "Ελένη", "דוד", "محمد", "한국어"],
  ])("%j is not taken for another name", (name) => expect(claimedName(name)).toBeUndefined());

  it("an agent whose token has a reserved name is shown as an agent", () => {
    expect([agentName("claude"), agentName("operator")]).toEqual(["claude", "agent (operator)"]);
  });

  it.each(["", " ", "a\u200bb", "a\nb", "a\u202eb", "ambiguous"])("%j is refused as a name", (name) => {
    expect(() => checkActorName(name)).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => checkActorName("claude")).not.toThrow();
  });
});
