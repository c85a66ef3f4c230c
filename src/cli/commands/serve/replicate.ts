import type { CommandContext } from "../../support/context.ts";
import { runSync, startOptions } from "../../syncing/start-sync.ts";
import { originUrl, socketUrl } from "../../syncing/upstream-address.ts";
import { usageError } from "../../../process/usage-error.ts";

const WAYS = "--connect SOCKET, or --ws-connect URL";

export async function replicate(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const [socket, url] = [input.text("connect"), input.text("wsConnect")];
  if (socket !== undefined && url !== undefined) throw usageError("an origin is reached in one way", WAYS);
  if (socket === undefined && url === undefined) throw usageError("where the origin is was not said", WAYS);
  const address = url === undefined ? socketUrl(socket ?? "", io.cwd()) : originUrl(url, io.cwd());
  const from = { url: address, workspace: input.text("workspace") };
  const options = await startOptions(context, from, input.args[0] ?? ".");
  return runSync(context, options);
}
