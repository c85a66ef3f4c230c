import { expect, it } from "vitest";
import { sha256 } from "../values/hash.ts";
import { cutToBytes, decodePrompt, decodeTurn, encodePrompt, encodeTurn } from "./turn-record.ts";

it("a turn and its prompt are decoded as they were encoded", () => {
  const prompt = { content: sha256("p"), until: "2030-01-01T00:00:00.000Z" };
  const turn = { session: "s", turn: "t", actor: "claude", started: "2029-12-02T00:00:00.000Z", prompt };
  expect(decodeTurn(encodeTurn(turn))).toEqual(turn);
  const words = { text: "do it\n", isCut: true, transcript: "/t.jsonl", message: "m1" };
  expect(decodePrompt(encodePrompt(words, "salt"))).toEqual(words);
  expect(decodePrompt(encodePrompt({ text: "x", isCut: false }, "salt"))).toEqual({ text: "x", isCut: false });
});

it("two prompts with the same text have different hashes", () => {
  const words = { text: "yes", isCut: false };
  expect(sha256(encodePrompt(words, "one"))).not.toBe(sha256(encodePrompt(words, "two")));
});

it("a text is cut between characters", () => {
  expect(cutToBytes("abc", 3)).toBe("abc");
  expect(cutToBytes("abcd", 3)).toBe("abc");
  expect(cutToBytes("aé€😀", 3)).toBe("aé");
  expect(cutToBytes("aé€😀", 5)).toBe("aé");
  expect(cutToBytes("aé€😀", 6)).toBe("aé€");
  expect(cutToBytes("aé€😀", 9)).toBe("aé€");
  expect(cutToBytes("😀", 3)).toBe("");
});
