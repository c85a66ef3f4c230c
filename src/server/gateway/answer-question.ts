import type { FileContent } from "../../api/file-api.ts";
import { pageWithMore } from "../../api/routes/pages.ts";
import { virtualPath } from "../../api/routes/virtual-path.ts";
import { withoutUndefined } from "../../api/routes/without-undefined.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Question } from "./messages.ts";
import { shownContent } from "./shown-content.ts";

/** Returns the answer to a question, without its marks. */
export async function answerQuestion(on: WorkspaceApi, question: Question): Promise<Record<string, unknown>> {
  switch (question.type) {
    case "list_files": {
      const { path, depth, at, limit, after } = question;
      return { ...(await on.files({ limit, ...withoutUndefined({ path, depth, at, after }) })) };
    }
    case "read_file":
      return readFile(on, question.path, question.at);
    case "file_history":
      return historyOf(on, question.path, question);
    case "file_at_iteration":
      return atIteration(on, question.path, question.iteration);
  }
}

async function readFile(on: WorkspaceApi, path: string, at: string | undefined): Promise<Record<string, unknown>> {
  const virtual = virtualPath(path);
  if (virtual?.kind === "iteration") return atIteration(on, virtual.path, virtual.iteration);
  if (virtual?.kind === "history") return historyAsFile(on, path, virtual.path);
  return contentOf(on, await on.file(path, withoutUndefined({ at })));
}

interface HistoryPage {
  readonly limit: number;
  readonly after?: number | undefined;
}

async function historyOf(on: WorkspaceApi, path: string, { limit, after }: HistoryPage) {
  const found = await on.history(path, { limit: limit + 1, ...withoutUndefined({ after }) });
  const { items, next } = pageWithMore(found, limit, ({ iteration }) => String(iteration));
  return { path, iterations: items, next: next === null ? null : Number(next) };
}

/** Largest number of iterations in such a file, the oldest first; `next` says whether there are more. */
const MOST_IN_FILE = 1_000;

async function historyAsFile(on: WorkspaceApi, path: string, asked: string) {
  const { iterations, next } = await historyOf(on, asked, { limit: MOST_IN_FILE });
  return { path, kind: "file", encoding: "utf8", content: JSON.stringify(iterations), next };
}

async function atIteration(on: WorkspaceApi, path: string, asked: number | "last") {
  const iteration = asked === "last" ? (await on.cat(path)).iteration : asked;
  return contentOf(on, await on.file(path, { iteration }));
}

async function contentOf(on: WorkspaceApi, file: FileContent): Promise<Record<string, unknown>> {
  const { path, path_b64, kind, size, hash, permissions, mtime_ms, iteration, seq } = file;
  if (kind === "dir") throw new ChronicleError("REFUSED", `${path} is a folder`, { hint: "ask for it by list_files" });
  const exact = withoutUndefined({ path_b64 });
  const shown = await shownContent(on.id, file);
  return { path, ...exact, kind, size, hash, permissions, mtime_ms, iteration, seq, ...shown };
}
