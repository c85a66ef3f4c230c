import { readdirSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { bytesTree } from "../helpers/python-replica.ts";

describe.each(WAYS)("Truth 31: a replica whose events the origin has removed (%s)", (way) => {
  it("reconciles with folders whose names Windows reads as absolute", async () => {
    await using both = new FollowedOrigin(way);
    const write = (content: string): void => {
      for (const name of ["D:\\folder/a", "D:\\folder/b/c", "\\\\share/a", "plain/a"]) {
        mkdirSync(dirname(join(both.origin.project, name)), { recursive: true });
        writeFileSync(join(both.origin.project, name), content);
      }
    };
    write("first");
    await both.start();
    expect(bytesTree(both.replica.folder)).toEqual(bytesTree(both.origin.project));
    await both.replica.kill("SIGINT");
    write("second");
    const client = createClient({ url: both.origin.socketUrl });
    const [id = ""] = readdirSync(join(both.origin.home, "workspaces"));
    await client.workspace(id).snapshot();
    await client.workspace(id).compact({ dropArchive: true });
    await client.close();
    await both.startReplica();
    await both.flush();
    expect(bytesTree(both.replica.folder)).toEqual(bytesTree(both.origin.project));
  });
});
