import { describe, expect, it } from "vitest";
import { meantBy } from "./meant-by.ts";

const ALL = ["run-42", "run-4", "run-41", "b"];
const meant = (asked: string): readonly string[] => meantBy(ALL, asked, (id) => id);

describe("what a typed id stands for", () => {
  it("a whole id is itself, although others begin with it", () => {
    expect(meant("run-4")).toEqual(["run-4"]);
    expect(meant("b")).toEqual(["b"]);
  });

  it("a beginning stands for all that begin with it", () => {
    expect(meant("run-")).toEqual(["run-42", "run-4", "run-41"]);
    expect(meant("r")).toHaveLength(3);
  });

  it("nothing, and what no id begins with, stand for none", () => {
    expect(meant("")).toEqual([]);
    expect(meant("run-43")).toEqual([]);
  });
});
