import type { RepairPlace, WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { CommandContext } from "./context.ts";
import { parseRemote, type RemoteAddress, withRemoteHint } from "../remote/remote-address.ts";
import { usageError } from "../../process/usage-error.ts";
import { typedPath } from "../../process/user-path.ts";

const OPTION = "--repair-from";
const OWN_ORIGIN = "origin";

interface AskedServer {
  readonly address: RemoteAddress;
  /** The token with which the workspace follows its origin. Absent for all other servers. */
  readonly token?: string | undefined;
  /** The ids or names that the workspace may have on the server, in the order in which they are tried. */
  readonly workspaces: readonly string[];
}

/**
 * Returns the places that `--repair-from` names. Disposing `opened` closes the connections to servers. Throws `USAGE`
 * for an invalid address, and for `origin` if the workspace follows no origin. Throws `NOT_FOUND` if a server does not
 * have the workspace.
 */
export async function repairPlaces(
  context: CommandContext,
  workspace: WorkspaceApi,
  opened: AsyncDisposableStack,
): Promise<RepairPlace[]> {
  const places: RepairPlace[] = [];
  for (const text of context.input.list("repairFrom")) {
    const server = await serverOf(context, workspace, text);
    places.push(
      server === undefined ? await localPlace(context, text) : await remotePlace(context, { server, opened, text }),
    );
  }
  return places;
}

async function localPlace({ io }: CommandContext, text: string): Promise<RepairPlace> {
  const { repairPlaceAt } = await import("../../open.ts");
  return repairPlaceAt(typedPath(() => io.cwd(), OPTION, text));
}

async function serverOf(
  context: CommandContext,
  workspace: WorkspaceApi,
  text: string,
): Promise<AskedServer | undefined> {
  if (text === OWN_ORIGIN) return ownOrigin(context, workspace);
  if (!/^(https?:\/\/|unix:)/.test(text)) return undefined;
  const address = parseRemote(text, OPTION);
  if (address.workspace !== undefined) return { address, workspaces: [address.workspace] };
  const origin = await originOf(context, workspace);
  return { address, workspaces: [origin?.workspace, workspace.id].filter((id) => id !== undefined) };
}

async function ownOrigin(context: CommandContext, workspace: WorkspaceApi): Promise<AskedServer> {
  const origin = await originOf(context, workspace);
  if (origin === undefined)
    throw usageError(
      `${OPTION} ${OWN_ORIGIN}: this workspace follows no origin`,
      "for a folder of that name: ./origin",
    );
  const { url, workspace: named = workspace.id, token } = origin;
  return { address: { url: url.replace(/^ws/, "http"), workspace: named }, token, workspaces: [named] };
}

async function originOf(context: CommandContext, { id }: WorkspaceApi) {
  const { findOrigin } = await import("../../open.ts");
  return findOrigin(await context.store(), id);
}

interface RemotePlace {
  readonly server: AskedServer;
  readonly opened: AsyncDisposableStack;
  readonly text: string;
}

async function remotePlace(
  context: CommandContext,
  { server: { address, token, workspaces }, opened, text }: RemotePlace,
): Promise<RepairPlace> {
  const { RemoteServer } = await import("../remote/remote-server.ts");
  const onNote = (note: string): void => context.note(note);
  const tokenFile = context.input.text("tokenFile");
  const server = RemoteServer.of(context.io, { address, token, tokenFile, acting: {}, once: false, onNote });
  opened.defer(() => server.close());
  for (const name of workspaces) {
    try {
      const workspace = await server.store.openById(name);
      opened.defer(() => workspace.close());
      return { workspace, name: text };
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw withRemoteHint(error);
    }
  }
  throw new ChronicleError("NOT_FOUND", `${address.url} has no workspace ${workspaces.join(" or ")}`, {
    hint: `say which one has good bytes: ${OPTION} '${address.url}#WORKSPACE'`,
  });
}
