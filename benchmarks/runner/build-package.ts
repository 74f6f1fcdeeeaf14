/** Builds the package for the benchmarks that measure what an application installs. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Below `node_modules`, so that the built files find their dependencies. */
const FOLDER = join(ROOT, 'node_modules/.cache/strongroom-benchmarks')

/** Builds the current sources without declarations. Returns the path of a folder with a file per entry point. */
export function buildPackage(): string {
  const tsup = join(ROOT, 'node_modules/tsup/dist/cli-default.js')
  execFileSync(process.execPath, [tsup, '--no-dts', '--silent', '--out-dir', FOLDER], { cwd: ROOT, stdio: 'ignore' })
  writeFileSync(join(FOLDER, 'package.json'), '{ "type": "module" }\n')
  return FOLDER
}
