import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { meantByPath } from "./meant-by-path.ts";

const bytes = new TextEncoder().encode("x");

describe("meantByPath", () => {
  it("distinguishes a request for a file's history from a file whose path looks like such a request", async () => {
    await using project = new HostedProject();
    const ws = await project.create();
    await ws.putFile("file", bytes);
    await ws.putFile("folder/history", bytes);
    await ws.putFile("folder/at/3", bytes);
    await ws.putFile("was", bytes);
    await ws.deleteFile("was");
    const meant = async (rest: string, as?: string) => {
      const { operation, params } = await meantByPath(ws, rest, as);
      return [operation, params["path"], params["n"]].filter((one) => one !== undefined).join(" ");
    };
    expect(await meant("file")).toBe("readFile file");
    expect(await meant("file/history")).toBe("fileHistory file");
    expect(await meant("was/history")).toBe("fileHistory was");
    expect(await meant("file/at/3")).toBe("fileAtIteration file 3");
    expect(await meant("file/at/last")).toBe("fileAtIteration file last");
    expect(await meant("file/at/x")).toBe("readFile file/at/x");
    expect(await meant("folder/history")).toBe("readFile folder/history");
    expect(await meant("folder/at/3")).toBe("readFile folder/at/3");
    expect(await meant("folder/history/history")).toBe("fileHistory folder/history");
    expect(await meant("none/history")).toBe("fileHistory none");
    expect(await meant("history")).toBe("readFile history");
    expect(await meant("file/history", "content")).toBe("readFile file/history");
    expect(await meant("folder/history", "history")).toBe("fileHistory folder");
    expect(await meant("folder/at/3", "iteration")).toBe("fileAtIteration folder 3");
  });

  it("recognises virtual paths only in their exact forms", async () => {
    await using project = new HostedProject();
    const ws = await project.create();
    await ws.putFile("file", bytes);
    await ws.putFile(".chronicle/query/file", bytes);
    const meant = async (rest: string, as?: string) => {
      const { operation, params } = await meantByPath(ws, rest, as);
      return [operation, params["path"], params["n"]].filter((one) => one !== undefined).join(" ");
    };
    expect(await meant(".chronicle/query/file")).toBe("fileHistory file");
    expect(await meant(".chronicle/query/src/a/history")).toBe("fileHistory src/a/history");
    expect(await meant(".chronicle/at/3/src/a.ts")).toBe("fileAtIteration src/a.ts 3");
    expect(await meant(".chronicle/at/last/file")).toBe("fileAtIteration file last");
    expect(await meant(".chronicle/query/file", "content")).toBe("readFile .chronicle/query/file");
    expect(await meant(".chronicle/query/file/history", "history")).toBe("fileHistory .chronicle/query/file");
    expect(await meant(".chronicle/query/file/at/1", "iteration")).toBe("fileAtIteration .chronicle/query/file 1");
    for (const real of [
      ".chronicle/query",
      ".chronicle/query/",

      ".chronicle/at/0/x",
      "a/.chronicle/query/x",
    ]) {
      expect(await meant(real)).toBe(`readFile ${real}`);
    }
  });
});
