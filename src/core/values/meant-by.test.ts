import { describe, expect, it } from "vitest";
import { meantBy } from "./meant-by.ts";

const ALL = ["run-42", "run-4", "run-41", "b"];
const meant = (asked: string): readonly string[] => meantBy(ALL, asked, (id) => id);

describe("what a typed id stands for", () => {
  it("a whole id stands for itself, even if other ids begin with it", () => {
    expect(meant("run-4")).toEqual(["run-4"]);
    expect(meant("b")).toEqual(["b"]);
  });

  it("a beginning stands for all ids that begin with it", () => {
    expect(meant("run-")).toEqual(["run-42", "run-4", "run-41"]);
    expect(meant("r")).toHaveLength(3);
  });

  it("an empty text, and a text with which no id begins, stand for no id", () => {
    expect(meant("")).toEqual([]);
    expect(meant("run-43")).toEqual([]);
  });
});
