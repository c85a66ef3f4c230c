import type { SyncMode, SyncSettings } from "../../api/sync-api.ts";
import type { CommandContext } from "../support/context.ts";
import { bareTokenNote } from "../remote/bare-token.ts";
import { remoteToken } from "../remote/remote-token.ts";
import type { Input } from "../../process/input.ts";
import { usageError } from "../../process/usage-error.ts";
import { optional } from "../../util/optional.ts";

const MODES: readonly SyncMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

/** How a folder follows, from the options of `replicate` and `sync start`. Throws `USAGE`. */
export function followOptions({ input }: CommandContext): SyncSettings {
  const [mode, policy, debounceMs] = [input.text("mode"), input.text("policy"), input.number("debounce")];
  const editorFiles = input.text("editorFiles");
  if (editorFiles !== undefined && editorFiles !== "leave" && editorFiles !== "sync")
    throw usageError(`editors' files cannot be ${editorFiles}`, "--editor-files leave, or --editor-files sync");
  const [filterTo, filterFrom] = [patterns(input, "to"), patterns(input, "from")];
  if (policy !== undefined && policy !== "sandbox")
    throw usageError(`there is no policy ${policy}`, "there is: sandbox");
  const withProtected = input.flag("withProtected");
  if (withProtected && input.flag("withoutProtected"))
    throw usageError("--with-protected and --without-protected are opposites", "give one of them");
  return {
    ...(mode === undefined ? {} : { mode: modeOf(mode) }),
    ...optional({ filterTo, filterFrom, policy, editorFiles, debounceMs }),
    ...(withProtected || input.flag("withoutProtected") ? { withProtected } : {}),
  };
}

/** The patterns of a direction; `undefined`: unchanged. */
function patterns(input: Input, way: "to" | "from"): readonly string[] | undefined {
  const [given, without] = way === "to" ? ["filterTo", "withoutFilterTo"] : ["filterFrom", "withoutFilterFrom"];
  const list = input.list(given);
  if (!input.flag(without)) return list.length === 0 ? undefined : list;
  if (list.length > 0)
    throw usageError(`--filter-${way} and --without-filter-${way} are opposites`, "give one of them");
  return [];
}

function modeOf(text: string): SyncMode {
  const mode = MODES.find((one) => one === text);
  if (mode === undefined) throw usageError(`there is no mode ${text}`, `there are: ${MODES.join(", ")}`);
  return mode;
}

/** The token for an origin on a port; a Unix socket needs none. Throws `USAGE`. */
export function upstreamToken(context: CommandContext, url: string): { readonly token?: string } {
  if (url.startsWith("unix:")) return {};
  const { io, input } = context;
  const token = remoteToken({ file: input.text("tokenFile"), given: io.env["CHRONICLE_TOKEN"], cwd: () => io.cwd() });
  if (token === undefined) {
    throw usageError(
      `${url} is a port, where a token is needed`,
      "--token-file FILE or $CHRONICLE_TOKEN; on the origin's machine, `token create --role agent` makes one",
    );
  }
  const note = bareTokenNote(url.replace(/^ws/, "http"), token);
  if (note !== undefined) context.note(note);
  return { token };
}
