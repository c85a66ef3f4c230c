import { EXIT } from "../../../api/problems.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import { browserOpener, openBrowser } from "../../../process/open-browser.ts";
import { placesOf } from "../../../process/places.ts";
import { askPage } from "../../serving/ask-page.ts";
import { refuseNoPort } from "../../serving/serve-plan.ts";
import type { CommandContext } from "../../support/context.ts";

/**
 * Opens the page (`chronicle ui`). This command never runs in the store's process, because it starts programs for the
 * user.
 */
export async function ui(context: CommandContext): Promise<number> {
  const { io, input } = context;
  await context.refuseAgent("open the page, on which a person can do everything");
  const port = input.number("port");
  refuseNoPort(port);
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const workspace = await workspaceOf(context);
  const url = new URL(await askPage({ disk: new NodeDisk(), home, env: io.env, version: io.version, port }));
  if (workspace !== undefined) url.pathname = `/w/${workspace}`;
  if (!context.json) context.print(url.href);
  const opened = await open(context, url.href);
  if (context.json) context.printJson({ url: url.href, opened });
  else if (!opened)
    context.say("open this address in a browser of this machine; it can be used once, within 5 minutes");
  return EXIT.done;
}

/**
 * Returns the id of the workspace that the page shows first: the workspace that the user has named, or that of the
 * current folder. Returns `undefined` if the folder has no history or its history cannot be opened. The page then shows
 * all workspaces.
 */
async function workspaceOf(context: CommandContext): Promise<string | undefined> {
  const [argument] = context.input.args;
  const named = argument ?? context.input.text("workspace");
  const store = await context.store();
  if (named !== undefined) return context.closing(await store.openById(named, { readOnly: true })).id;
  try {
    return context.closing(await store.open({ folder: context.io.cwd(), readOnly: true })).id;
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    if (error.code !== "NOT_FOUND") context.note(`the page shows all workspaces: ${error.message}`);
    return undefined;
  }
}

/** Opens the address in the user's browser. Resolves to false if `--no-open` is given or no browser can be opened. */
async function open(context: CommandContext, url: string): Promise<boolean> {
  const { io, input } = context;
  const isTerminal = io.stdinIsTerminal && io.err.isTerminal;
  const opener = browserOpener({ env: io.env, isTerminal, platform: process.platform });
  if (opener === undefined || !input.flag("open")) return false;
  const failure = await openBrowser(opener, url, io.env);
  if (failure !== undefined) context.note(`no browser could be opened: ${failure}`);
  return failure === undefined;
}
