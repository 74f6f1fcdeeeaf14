/** Checks what the package contains: documents, one error class for each module system, files that load quickly, resolvable types. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { BUNDLED_PACKAGES, COMMAND_PACKAGES, CONSOLE_PACKAGES, NOTICES } from '../bundled-packages.ts'
import { SBOM } from '../sbom.ts'
import type { PackedPackage } from './packed-package.ts'
import { MODULES, type Trial } from './trial.ts'

const DOCUMENTS = ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json', `dist/${NOTICES}`, `dist/${SBOM}`]
/** Entry points that are used where there is no vault. They load no schema library. */
const THIN = ['errors', 'audit-verifier']
/** A name that every build of the schema library has. */
const SCHEMA_LIBRARY = '$ZodType'

/** Runs the checks. */
export function checkContents(trial: Trial, { folder, tarball }: PackedPackage): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const paths = files.map((one) => join(one.parentPath, one.name))
  for (const document of DOCUMENTS) {
    if (!paths.includes(join(folder, document))) trial.fail(`${document} is not in the package`)
  }
  for (const extension of ['.js', '.cjs']) {
    checkErrorClass(trial, paths, extension)
    checkThinEntryPoints(trial, join(folder, 'dist'), extension)
  }
  // Browsers load the files of the console. Its build checks which packages it has.
  const console = join(folder, 'dist/console')
  checkConsole(trial, console, paths)
  const built = paths.filter((one) => /\.c?js$/.test(one) && !one.startsWith(console))
  for (const path of built) checkBuiltFile(trial, path)
  checkBuiltIn(trial, built)
  checkCommandAlone(trial, join(folder, 'dist'), built)
  for (const path of paths.filter((one) => /\.d\.c?ts$/.test(one))) {
    if (/(from|import\()\s*['"][^'"]*(?<!\.d)\.[cm]?ts['"]/.test(readFileSync(path, 'utf8')))
      trial.fail(`${path} imports a .ts file, which is not shipped`)
    for (const name of documentsIn(readFileSync(path, 'utf8')))
      if (!paths.includes(join(folder, name))) trial.fail(`${path} refers to ${name}, which is not in the package`)
  }
  const attw = [join(MODULES, '@arethetypeswrong/cli/dist/index.js'), '--profile', 'strict', '--no-emoji', tarball]
  trial.run('the types resolve', { command: 'node', args: attw, folder: trial.home })
}

/** Returns the documents that a text refers to. */
function documentsIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/\bdocs\/[\w/-]+(\.md)?|\bspecification\b/g)].map(([name]) => name))
}

function checkErrorClass(trial: Trial, paths: readonly string[], extension: string): void {
  const classes = paths.filter(
    (path) => path.endsWith(extension) && /class VaultError\b|VaultError = class\b/.test(readFileSync(path, 'utf8')),
  )
  if (classes.length === 1) return
  trial.fail(`VaultError is declared ${classes.length} times in the ${extension} files; all entry points must share one class`)
}

function checkThinEntryPoints(trial: Trial, dist: string, extension: string): void {
  const loadsLibrary = (name: string): boolean =>
    [...loadedFiles(join(dist, `${name}${extension}`))].some((path) => readFileSync(path, 'utf8').includes(SCHEMA_LIBRARY))
  if (!loadsLibrary('index'))
    trial.fail(`No ${extension} file that index loads has ${SCHEMA_LIBRARY}; look for another name of the library`)
  for (const name of THIN) if (loadsLibrary(name)) trial.fail(`${name}${extension} loads the schema library`)
}

/** What an application imports costs what it cost without the command: it loads none of its packages. */
function checkCommandAlone(trial: Trial, dist: string, built: readonly string[]): void {
  const ofLibrary = built.filter((path) => !path.startsWith(join(dist, 'cli')))
  for (const path of ofLibrary) {
    const text = readFileSync(path, 'latin1')
    const found = COMMAND_PACKAGES.filter((name) => text.includes(`node_modules/${name}/`))
    if (found.length > 0) trial.fail(`${path} has ${found.join(', ')}, which only the command uses`)
  }
}

/** Returns the built files that loading one file loads. */
function loadedFiles(path: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(path)) return found
  found.add(path)
  const text = readFileSync(path, 'utf8')
  for (const [, target = ''] of text.matchAll(/(?:from ?|import ?|require\()["'](\.[^"']+)["']/g)) {
    loadedFiles(resolve(dirname(path), target), found)
  }
  return found
}

/** The page, compressed forms of its script, and no source maps. */
function checkConsole(trial: Trial, folder: string, paths: readonly string[]): void {
  const files = paths.filter((path) => path.startsWith(folder))
  for (const ending of ['index.html', '.js', '.js.br', '.js.gz', '.css.br', '.woff2'])
    if (!files.some((path) => path.endsWith(ending))) trial.fail(`${folder} has no file that ends with ${ending}`)
  for (const path of files.filter((one) => one.endsWith('.map'))) trial.fail(`${path} is a source map`)
}

/** Checks that the packages in the built files, which the build names in comments, are those that the documents list. */
function checkBuiltIn(trial: Trial, built: readonly string[]): void {
  const found = new Set<string>()
  // The file of jiti names the modules that its makers built into it.
  for (const path of built.filter((one) => !basename(one).startsWith('jiti-'))) {
    for (const [, name = ''] of readFileSync(path, 'latin1').matchAll(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//g)) found.add(name)
  }
  const inNode = BUNDLED_PACKAGES.filter((name) => !CONSOLE_PACKAGES.includes(name))
  const [missing, surplus] = [
    inNode.filter((name) => name !== 'jiti' && !found.has(name)),
    [...found].filter((name) => !inNode.includes(name)),
  ]
  if (missing.length > 0) trial.fail(`${missing.join(', ')} should be built in, and no built file names them`)
  if (surplus.length > 0) trial.fail(`${surplus.join(', ')} are built in; list them in BUNDLED_PACKAGES`)
}

/** Checks that a built file loads no package that is built into ours, and that all its bytes are ASCII, which Node compiles faster. */
function checkBuiltFile(trial: Trial, path: string): void {
  const text = readFileSync(path, 'latin1')
  const imported = BUNDLED_PACKAGES.filter((name) => new RegExp(`(from ?|require\\(|import\\()["']${name}["']`).test(text))
  if (imported.length > 0) trial.fail(`${path} imports ${imported.join(', ')}, which should be built into it`)
  if (/#\w+ = exports\./.test(text)) trial.fail(`${path} assigns an export in place of a private member`)
  if (/[\u0080-\u00ff]/.test(text)) trial.fail(`${path} has characters beyond ASCII`)
}
