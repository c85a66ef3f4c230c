import { afterEach, describe, expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { Serving } from "../server/serving.ts";

const NOT_OFFERED = "the server there does not offer replication now";
const REFUSAL = new ChronicleError("NOT_FOUND", "the server there serves no replicas", { data: { status: 404 } });

let rig: FolderRig | undefined;

afterEach(() => rig?.close());

describe("an origin that is started again without --replication", () => {
  it("does not halt a replica that it had: it is offline, and continues once replication is offered again", async () => {
    rig = new FolderRig();
    const { desk, host } = rig;
    await rig.during(host.open());
    await rig.during(host.write("a", "1"));
    await rig.during(desk.start());
    await rig.flush();
    desk.refusal = REFUSAL;
    desk.cut();
    desk.heal();
    await rig.until(() => desk.sync.shape.reason === NOT_OFFERED);
    expect(desk.sync.shape.state).toBe("offline");
    expect(desk.sync.shape).toMatchObject({
      reason: NOT_OFFERED,
      hint: "start it there with `serve --replication`",
      trouble: { kind: "unreachable", next: expect.stringContaining("tries again by itself") },
    });
    expect(desk.sync.shape.halted).toBeUndefined();
    await rig.during(host.write("a", "2"));
    desk.edit("b", "mine");
    desk.refusal = undefined;
    await rig.until(() => desk.sync.shape.state === "in-sync" && desk.tree()["a"] === "2");
    expect(await rig.during(host.tree())).toEqual({ a: "2", b: "mine" });
  });

  it("halts a replica that was never let in", async () => {
    rig = new FolderRig();
    const { desk, host } = rig;
    await rig.during(host.open());
    desk.refusal = REFUSAL;
    await rig.during(desk.start());
    await rig.until(() => desk.sync.shape.halted !== undefined);
    expect(desk.sync.shape).toMatchObject({ state: "halted", halted: "not_found" });
  });

  it("refuses replicas on its socket and on its port", async () => {
    await using serving = await Serving.start();
    const { signal } = new AbortController();
    const byPort = dialOrigin({ url: `http://127.0.0.1:${serving.port}`, token: serving.token("agent") }, signal);
    await expect(byPort).rejects.toMatchObject({ code: "NOT_FOUND", data: { status: 404 } });
    const channel = await dialOrigin({ url: `unix:${serving.run.socket}` }, signal);
    await channel.send({ type: "BarrierRequest", sequence: 1 });
    expect(await channel.ended).toMatchObject({ error: { code: "UNAVAILABLE", message: NOT_OFFERED } });
  });
});
