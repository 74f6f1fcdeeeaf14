/** The built files of the console: read from the package once, with their compressed forms. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VaultError } from '../../index.ts'

/** One static file. */
export interface ConsoleFile {
  /** Its media type. */
  readonly type: string
  readonly bytes: Uint8Array
  /** Its compressed forms by the name of their coding, the shortest first. */
  readonly codings: Readonly<Record<string, Uint8Array>>
}

/** The files of the console. */
export interface ConsoleFiles {
  /** The page, with the paths of its files beginning with `./`. */
  readonly page: string
  /** By their names in the folder `assets`, which have a hash of the content. */
  readonly assets: ReadonlyMap<string, ConsoleFile>
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
}

/** Endings of compressed forms. */
const CODINGS = { br: '.br', gzip: '.gz' } as const

/** Reads the files. Throws `invalid_request` if the package has none: in its sources they are built by `npm run build:console`. */
export function readConsoleFiles(folder = consoleFolder()): ConsoleFiles {
  const page = join(folder, 'index.html')
  if (!existsSync(page))
    throw new VaultError(
      'invalid_request',
      'Option "console" needs the built files of the console, and they are not beside this file. Leave the package "strongroom" out of bundles; in its sources, run npm run build:console.',
    )
  const assets = new Map<string, ConsoleFile>()
  const names = readdirSync(join(folder, 'assets'))
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const read = (ending: string): Uint8Array => readFileSync(join(folder, 'assets', `${name}${ending}`))
    const codings = Object.entries(CODINGS).filter(([, ending]) => names.includes(`${name}${ending}`))
    assets.set(name, {
      type,
      bytes: read(''),
      codings: Object.fromEntries(codings.map(([coding, ending]) => [coding, read(ending)])),
    })
  }
  return { page: readFileSync(page, 'utf8'), assets }
}

/** Returns the folder: beside the built files of the package, or where the sources are built to. */
function consoleFolder(): string {
  // The build writes the name of the file here for CommonJS.
  const here = import.meta.url
  const file = here.startsWith('file:') ? fileURLToPath(here) : here
  return join(dirname(file), file.endsWith('.ts') ? '../../../dist/console' : 'console')
}
