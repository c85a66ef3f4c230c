import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { File, Folder, FolderUp, Link2, Lock, Search } from "lucide-react";
import { useState } from "react";
import type { FileShape } from "../../../src/api/file-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { useFiles, useFurtherRoots } from "../data/queries.ts";
import { folderAbove, givenPath, readName } from "../parts/given-path.ts";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { digits, size, visible } from "../parts/words.ts";
import "./file.css";

/** The maximum number of entries of one folder that are shown. */
const MOST = 1_000;

/** Shows the files of a moment: the present, or the moment of the playhead. */
export function FilesPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { folder, at } = useSearch({ from: "/w/$workspace/files" });
  const [name, setName] = useState("");
  const moment = at === undefined ? {} : { at };
  return (
    <div className="files-page">
      <header className="files-head">
        <h1>{at === undefined ? "Files" : `Files at ${at}`}</h1>
        {at === undefined ? null : (
          <Link
            to="/w/$workspace/files"
            params={{ workspace }}
            search={folder === undefined ? {} : { folder }}
            className="button"
          >
            Files of now
          </Link>
        )}
        <span className="grow" />
        <label className="search-field">
          <Search size={14} aria-hidden="true" />
          <input
            type="search"
            placeholder="Find by name, deleted files too"
            aria-label="Find by name, deleted files too"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
      </header>
      {name.trim().length > 1 ? (
        <Found workspace={workspace} name={name.trim()} />
      ) : (
        <FolderList key={`${folder ?? ""} ${at ?? ""}`} workspace={workspace} folder={folder} moment={moment} />
      )}
    </div>
  );
}

interface FolderListProps {
  readonly workspace: string;
  readonly folder: string | undefined;
  readonly moment: { readonly at?: string };
}

function FolderList({ workspace, folder, moment }: FolderListProps) {
  const navigate = useNavigate({ from: "/w/$workspace/files" });
  const { data, error } = useFiles(workspace, {
    depth: 1,
    limit: MOST,
    ...moment,
    ...(folder === undefined ? {} : { path: folder }),
  });
  if (error !== null) return <Problem error={error} onAgain={() => void navigate({ search: {} })} />;
  if (data === undefined) return <Loading />;
  const parent = folder === undefined ? undefined : folderAbove(folder);
  const sorted = data.files.toSorted(
    (a, b) => Number(b.kind === "dir") - Number(a.kind === "dir") || (a.path < b.path ? -1 : 1),
  );
  return (
    <>
      {folder === undefined ? null : (
        <p className="folder-path">
          <PathText path={folder} />
        </p>
      )}
      <ul className="file-list">
        {parent === undefined ? null : (
          <li>
            <Link
              to="/w/$workspace/files"
              params={{ workspace }}
              search={parent === "" ? moment : { ...moment, folder: parent }}
              className="file-entry"
            >
              <FolderUp size={15} aria-hidden="true" /> <span>..</span>
            </Link>
          </li>
        )}
        {folder === undefined ? <FurtherRoots workspace={workspace} moment={moment} /> : null}
        {sorted.map((one) => (
          <li key={givenPath(one)}>
            <Entry workspace={workspace} file={one} moment={moment} />
          </li>
        ))}
      </ul>
      {sorted.length === 0 ? <Empty title="This folder is empty" /> : null}
      {data.next === null ? null : (
        <p className="quiet">These are the first {digits(MOST)}. Find others by their name.</p>
      )}
    </>
  );
}

/** Shows the other folders of the workspace, above the entries of its first folder. */
function FurtherRoots({ workspace, moment }: Pick<FolderListProps, "workspace" | "moment">) {
  return useFurtherRoots(workspace).map(({ mark, path }) => (
    <li key={mark}>
      <Link to="/w/$workspace/files" params={{ workspace }} search={{ ...moment, folder: mark }} className="file-entry">
        <Folder size={15} aria-hidden="true" /> <PathText path={path} />
      </Link>
    </li>
  ));
}

function Entry({
  workspace,
  file,
  moment,
}: {
  readonly workspace: string;
  readonly file: FileShape;
  readonly moment: { readonly at?: string };
}) {
  const { kind, size: bytes } = file;
  const path = givenPath(file);
  const name = visible(readName(path));
  if (kind === "dir")
    return (
      <Link to="/w/$workspace/files" params={{ workspace }} search={{ ...moment, folder: path }} className="file-entry">
        <Folder size={15} aria-hidden="true" /> <bdi>{name}</bdi>
      </Link>
    );
  const Icon = kind === "symlink" ? Link2 : file.protected === true ? Lock : File;
  return (
    <Link
      to="/w/$workspace/file"
      params={{ workspace }}
      search={{ path, ...(moment.at === undefined ? {} : { n: String(file.iteration) }) }}
      className="file-entry"
    >
      <Icon size={15} aria-hidden="true" /> <bdi>{name}</bdi>
      <span className="quiet file-size">{size(bytes)}</span>
    </Link>
  );
}

function Found({ workspace, name }: { readonly workspace: string; readonly name: string }) {
  const on = useWorkspaceApi(workspace);
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "find", name],
    queryFn: () => on.find(name, { part: true }),
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading what="Looking for it" />;
  if (data.length === 0) return <Empty title="No file has this name, now or earlier" />;
  return (
    <ul className="file-list">
      {data.slice(0, MOST).map((path) => (
        <li key={path}>
          <Link to="/w/$workspace/file" params={{ workspace }} search={{ path }} className="file-entry">
            <File size={15} aria-hidden="true" /> <PathText path={path} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
