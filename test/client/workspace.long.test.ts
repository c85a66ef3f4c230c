import { MEMORY_STORE } from "../../src/api/store-api.ts";
import { openStore } from "../../src/open.ts";
import { workspaceSuite, type WorkspaceUnderTest } from "../../src/testing/workspace-suite.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { ServedStore } from "../helpers/served-store.ts";

async function embedded(): Promise<WorkspaceUnderTest> {
  const project = new HostedProject();
  return { workspace: await project.create(), [Symbol.asyncDispose]: () => project[Symbol.asyncDispose]() };
}

async function inMemory(): Promise<WorkspaceUnderTest> {
  const store = await openStore({ home: MEMORY_STORE, configFolder: "/none" });
  const { workspace } = await store.create({ name: "session-1" });
  const end = async (): Promise<void> => {
    await workspace.close();
    await store.close();
  };
  return { workspace, [Symbol.asyncDispose]: end };
}

async function served(over: "socket" | "port"): Promise<WorkspaceUnderTest> {
  const server = await ServedStore.start();
  const { workspace } = await server.client(over).store.create({ name: "session-1" });
  return { workspace, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

workspaceSuite("an embedded workspace", embedded);
workspaceSuite("a workspace of a store in memory", inMemory);
workspaceSuite("a workspace of a server, over its socket", () => served("socket"));
workspaceSuite("a workspace of a server, over a port", () => served("port"));
