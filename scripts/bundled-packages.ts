/** The packages that are built into ours, so that importing it reads a few files in place of hundreds. Source: docs/decisions/0042. */
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, transform } from 'esbuild'
import * as z from 'zod'

const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))
const manifestShape = z.object({ version: z.string(), license: z.string() })

/** They are pure, small, and listed in devDependencies with an exact version. */
export const BUNDLED_PACKAGES: readonly string[] = ['kysely', 're2js', 'uuid', 'zod']

/** Where the build puts the licenses of these packages. */
export const NOTICES = 'third-party-notices.txt'

/**
 * Private members of classes as the build can write them to CommonJS: it takes `#sql` for the export `sql` of the same file, and assigns that.
 * Statements of kysely are compiled once, so what they cost does not matter.
 */
const WITHOUT_PRIVATE_NAMES = {
  'class-private-accessor': false,
  'class-private-brand-check': false,
  'class-private-field': false,
  'class-private-method': false,
  'class-private-static-accessor': false,
  'class-private-static-field': false,
  'class-private-static-method': false,
} as const

/** Removes comments and white space from these packages. Our own code stays as it is written. */
export const compactPackages: Plugin = {
  name: 'compact-packages',
  setup(build) {
    build.onLoad({ filter: /\/node_modules\/.*\.m?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const { code } = await transform(text, {
        minifyWhitespace: true,
        charset: 'ascii',
        legalComments: 'none',
        supported: WITHOUT_PRIVATE_NAMES,
      })
      return { contents: code }
    })
  },
}

/** Writes the name, the version and the license of each package into the folder of the build. */
export async function writeNotices(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const head = 'The files of this package contain parts of the packages below, without their comments.\n'
  await writeFile(join(folder, NOTICES), [head, ...BUNDLED_PACKAGES.map(noticeOf)].join('\n'))
}

function noticeOf(name: string): string {
  const folder = join(MODULES, name)
  const { version, license } = manifestShape.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  const [file] = globSync('LICENSE*', { cwd: folder })
  if (file === undefined) throw new Error(`${name} ${version} has no license file. Add its text by hand.`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
