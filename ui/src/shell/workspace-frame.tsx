import { Link, Outlet, useLocation, useParams } from "@tanstack/react-router";
import { FolderTree, GitCompare, HardDrive, History, RefreshCw, ShieldCheck, Split } from "lucide-react";
import { Fragment, useEffect, useRef } from "react";
import { ChronicleError } from "../../../src/client/index.ts";
import { useLiveWorkspace } from "../data/live.ts";
import { useConflicts, useRecording } from "../data/queries.ts";
import { RecordingSign } from "../home/recording-sign.tsx";
import { Problem } from "../parts/states.tsx";
import { digits } from "../parts/words.ts";

const VIEWS = [
  ["/w/$workspace", "Timeline", History],
  ["/w/$workspace/changes", "Changes", GitCompare],
  ["/w/$workspace/files", "Files", FolderTree],
  ["/w/$workspace/conflicts", "Conflicts", Split],
  ["/w/$workspace/sync", "Sync", RefreshCw],
  ["/w/$workspace/integrity", "Integrity", ShieldCheck],
  ["/w/$workspace/space", "Space", HardDrive],
] as const;

/** The views of one workspace, kept up to date by its events. */
export function WorkspaceFrame() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  useLiveWorkspace(workspace);
  const views = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // Not all views have room in a narrow window. The present one is always in sight.
  useEffect(() => {
    views.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [pathname]);
  const { error } = useRecording(workspace);
  const isGone = error instanceof ChronicleError && error.code === "NOT_FOUND";
  return (
    <div className="workspace">
      <nav ref={views} className="views" aria-label="Views of the workspace">
        {VIEWS.map(([to, name, Icon]) => (
          <Link
            key={to}
            to={to}
            params={{ workspace }}
            className="view-link"
            activeOptions={{ exact: true, includeSearch: false }}
            activeProps={{ "aria-current": "page" }}
            // A file is one of the files.
            aria-current={name === "Files" && pathname.endsWith("/file") ? "page" : undefined}
          >
            <Icon size={15} aria-hidden="true" />
            <span>{name}</span>
            {name === "Conflicts" ? <OpenConflicts workspace={workspace} /> : null}
          </Link>
        ))}
        <span className="grow" />
        <RecordingSign workspace={workspace} />
      </nav>
      {/* Nothing of another workspace stays on screen. */}
      <Fragment key={workspace}>{isGone ? <Gone error={error} /> : <Outlet />}</Fragment>
    </div>
  );
}

/** The workspace was forgotten while somebody looked, or the address names none. */
function Gone({ error }: { readonly error: Error }) {
  return (
    <>
      <Problem error={error} />
      <p className="gone">
        <Link to="/" className="button">
          All workspaces
        </Link>
      </p>
    </>
  );
}

function OpenConflicts({ workspace }: { readonly workspace: string }) {
  const { data, hasNextPage } = useConflicts(workspace);
  const count = data?.pages.flat().length ?? 0;
  if (count === 0) return null;
  const text = hasNextPage ? `${digits(count)}+` : digits(count);
  return (
    <span className="badge" aria-label={`${text} open`}>
      {text}
    </span>
  );
}
