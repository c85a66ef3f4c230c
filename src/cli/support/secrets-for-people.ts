import type { Classed } from "../../api/file-api.ts";
import type { ActingAs, WorkspaceApi } from "../../api/workspace-api.ts";

/** The methods by which a command gets a content. */
type Contents = Pick<WorkspaceApi, "cat" | "file" | "blob" | "as">;

/** The caller who asks for a content. */
interface Asker {
  /** True if an agent gives the command, as far as its variables and the processes around it tell. */
  readonly isAgent: () => Promise<boolean>;
  /** True for a server's workspace: this side does not know which of its contents are secrets. */
  readonly isRemote: boolean;
}

/**
 * A workspace for a command. If an agent gives the command, a secret's content is requested again on behalf of the
 * agent, and its bytes are then refused. All contents for an answer, or for a program, go through here.
 */
export function secretsForPeople(workspace: WorkspaceApi, asker: Asker): WorkspaceApi {
  const asAgent = (): WorkspaceApi => workspace.as({ role: "agent" });
  async function opened<T extends Classed>(open: (on: WorkspaceApi) => Promise<T>): Promise<T> {
    if (asker.isRemote) return open((await asker.isAgent()) ? asAgent() : workspace);
    const content = await open(workspace);
    // The processes around this one are only checked if that matters.
    return content.class === "protected" && (await asker.isAgent()) ? open(asAgent()) : content;
  }
  const guarded: Contents = {
    cat: (path, iteration) => opened((on) => on.cat(path, iteration)),
    file: (path, options) => opened((on) => on.file(path, options)),
    blob: (hash) => opened((on) => on.blob(hash)),
    as: (who: ActingAs) => secretsForPeople(workspace.as(who), asker),
  };
  return new Proxy(workspace, {
    get: (target, key) => {
      if (Object.hasOwn(guarded, key)) return Reflect.get(guarded, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
