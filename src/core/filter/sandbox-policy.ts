import type { FilterPolicy } from "./directional-filter.ts";

const BUILD_OUTPUT = `
  build/ dist/ out/ target/ obj/ **/bin/Debug/ **/bin/Release/
  .next/ .nuxt/ .output/ .svelte-kit/ .turbo/ .parcel-cache/
  *.o *.obj *.a *.lib *.so *.so.* *.dylib *.dll *.exe *.class *.pyc *.pyo *.pyd *.wasm *.tsbuildinfo`;

const DEPENDENCIES = `
  node_modules/ bower_components/ jspm_packages/ .pnpm-store/ **/.yarn/cache/ vendor/ Pods/
  .venv/ venv/ site-packages/ __pypackages__/ .gradle/ .m2/ **/.cargo/registry/`;

const LARGE_BINARIES = `
  *.zip *.tar *.tgz *.tar.* *.gz *.bz2 *.xz *.zst *.7z *.rar *.jar *.war *.whl *.deb *.rpm *.dmg *.iso *.img
  *.mp4 *.mov *.avi *.mkv *.webm *.mp3 *.wav *.flac
  *.bin *.pt *.pth *.onnx *.safetensors *.gguf *.parquet`;

const TEMPORARY = `
  tmp/ temp/ .tmp/ *.tmp *.temp *.swp *.swo *.swx *~ .#* *.bak *.orig *.part *.crdownload .DS_Store Thumbs.db
  __pycache__/ .cache/ .pytest_cache/ .mypy_cache/ .ruff_cache/ .tox/ .nox/ .eslintcache`;

// Plain `core` is missing because more source folders than dumps have that name.
const DIAGNOSTICS = `
  logs/ *.log *.log.[0-9]* npm-debug.log* core.[0-9]* *.core *.dmp *.hprof *.heapsnapshot *.cpuprofile *.prof *.trace
  *.pid coverage/ .nyc_output/ htmlcov/ .coverage report.[0-9]*.[0-9]*.json`;

/**
 * The filter between an agent's host and a sandbox (`--policy sandbox`). To the sandbox goes everything that is
 * tracked. From it come sources, configuration, documents and images, whatever their names; not build output,
 * dependency folders, large binaries, temporary files and diagnostics, nor what `.gitignore` files name.
 */
export const SANDBOX_POLICY: FilterPolicy = {
  toReplica: [],
  fromReplica: [BUILD_OUTPUT, DEPENDENCIES, LARGE_BINARIES, TEMPORARY, DIAGNOSTICS].flatMap((patterns) =>
    patterns.trim().split(/\s+/),
  ),
  maxBytesFromReplica: 32 * 1024 ** 2,
  useGitignore: true,
};
