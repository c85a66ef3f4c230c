import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import { generateApi } from "swagger-typescript-api";
import { afterAll, describe, expect, it } from "vitest";
import { makeDocument } from "../../scripts/openapi/make-document.ts";
import { replyComponents } from "../../scripts/openapi/reply-components.ts";
import { ROUTES } from "../../src/api/routes/table.ts";
import { ServedStore } from "../helpers/served-store.ts";

const repo = join(import.meta.dirname, "..", "..");
const file = join(repo, "docs", "openapi.json");
const base = mkdtempSync(join(tmpdir(), "chronicle-openapi-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const checkedIn = (): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;

describe("docs/openapi.json", () => {
  it("is generated from the table of routes: node scripts/make-openapi.ts writes it", () => {
    expect(checkedIn()).toEqual(JSON.parse(JSON.stringify(makeDocument(ROUTES, replyComponents()))));
  });

  it("is accepted by a common validator, which rejects a broken copy", async () => {
    const validator = new Validator();
    expect(await validator.validate(checkedIn())).toEqual({ valid: true });
    const broken = JSON.stringify(checkedIn()).replace('"in":"query"', '"in":"nowhere"');
    expect((await new Validator().validate(JSON.parse(broken) as Record<string, unknown>)).valid).toBe(false);
  });
});

/** The part of the generated code that this test uses. */
interface Generated {
  readonly Api: new (config: object) => {
    readonly v1: Record<string, (...args: unknown[]) => Promise<{ readonly status: number; readonly data: unknown }>>;
  };
}

describe("a client that a common generator makes from it", () => {
  it("passes the type check, and works against a server", async () => {
    mkdirSync(base, { recursive: true });
    await generateApi({
      input: file,
      output: base,
      fileName: "api.ts",
      httpClientType: "fetch",
      extractRequestParams: true,
      silent: true,
    });
    writeFileSync(join(base, "package.json"), '{"type":"module"}');
    // Checks the generated code with the options of a usual project.
    const options = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      noEmit: true,
      lib: ["es2024", "dom"],
      types: [],
    };
    writeFileSync(join(base, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["api.ts"] }));
    const checked = spawnSync(join(repo, "node_modules/.bin/tsc"), ["-p", base], { encoding: "utf8" });
    expect([checked.stdout, checked.status]).toEqual(["", 0]);

    await using server = await ServedStore.start();
    const { Api } = (await import(pathToFileURL(join(base, "api.ts")).href)) as Generated;
    const api = new Api({
      baseUrl: server.url,
      baseApiParams: { headers: { authorization: `Bearer ${server.token}` } },
    }).v1;
    const created = await api["createWorkspace"]?.({ name: "generated" });
    expect(created?.status).toBe(201);
    // The generated client sends a body as JSON unless a type is given.
    const written = await api["putFile"]?.({ id: "generated", path: "src/a.ts" }, "one", { type: "text/plain" });
    expect(written?.data).toMatchObject({ file: { path: "src/a.ts", size: 3 } });
    const listed = await api["listFiles"]?.({ id: "generated", depth: 1 });
    expect(listed?.data).toMatchObject({ files: [{ path: "src", kind: "dir" }], next: null });
    const read = (await api["readFile"]?.({ id: "generated", path: "src/a.ts" })) as unknown as Response | undefined;
    expect(await read?.text()).toBe("one");
    const history = await api["fileHistory"]?.({ id: "generated", path: "src/a.ts" });
    expect(history?.data).toMatchObject({ items: [{ iteration: 1, size: 3 }], next: null });
    await expect(api["describeFile"]?.({ id: "generated", path: "none" })).rejects.toMatchObject({
      status: 404,
      error: { code: "NOT_FOUND" },
    });
  });
});
