/** The packages that are built into ours, so that importing it reads a few files in place of hundreds. Source: docs/decisions/0042. */
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, transform } from 'esbuild'
import * as z from 'zod'

const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))
const manifestShape = z.object({ version: z.string(), license: z.string() })

/** Those of the library. They are small, without native code, and have an exact version: in devDependencies, or in the lock file if another one of them brings it. */
export const LIBRARY_PACKAGES: readonly string[] = [
  '@borewit/text-codec',
  '@fastify/busboy',
  '@tokenizer/inflate',
  'file-type',
  'ieee754',
  'jose',
  'kysely',
  're2js',
  'strtok3',
  'token-types',
  'uint8array-extras',
  'uuid',
  'zod',
]

/** Those that only the command has. What an application imports loads none of them. */
export const COMMAND_PACKAGES: readonly string[] = [
  '@clack/core',
  '@clack/prompts',
  '@pinojs/redact',
  'atomic-sleep',
  'bintrees',
  'commander',
  'fast-string-truncated-width',
  'fast-string-width',
  'fast-wrap-ansi',
  'jiti',
  'on-exit-leak-free',
  'pino',
  'pino-std-serializers',
  'prom-client',
  'quick-format-unescaped',
  'safe-stable-stringify',
  'sisteransi',
  'sonic-boom',
  'tdigest',
  'thread-stream',
]

/** Those of the console: what runs in browsers, and the fonts. No other file has any of them. */
export const CONSOLE_PACKAGES: readonly string[] = [
  '@codemirror/autocomplete',
  '@codemirror/commands',
  '@codemirror/lang-sql',
  '@codemirror/language',
  '@codemirror/lint',
  '@codemirror/state',
  '@codemirror/streamparser',
  '@codemirror/view',
  '@fontsource-variable/geist',
  '@fontsource-variable/geist-mono',
  '@lezer/common',
  '@lezer/highlight',
  '@lezer/lr',
  '@marijn/find-cluster-break',
  '@tanstack/store',
  '@tanstack/table-core',
  '@tanstack/virtual-core',
  'crelt',
  'preact',
  'style-mod',
  'uplot',
  'w3c-keyname',
]

export const BUNDLED_PACKAGES: readonly string[] = [...LIBRARY_PACKAGES, ...COMMAND_PACKAGES, ...CONSOLE_PACKAGES]

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

/** The build writes a constructor to CommonJS wrongly if it sets members in the same statement that calls `super`. In jose these are errors. */
const WITHOUT_CLASS_FIELDS = { 'class-field': false, 'class-static-field': false } as const

/** Removes comments and white space from these packages. Our own code stays as it is written. */
export const compactPackages: Plugin = {
  name: 'compact-packages',
  setup(build) {
    build.onLoad({ filter: /\/node_modules\/.*\.m?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const { code } = await transform(text, {
        // A comment of file-type makes bundlers leave an import alone that it never reaches here.
        minifyWhitespace: !path.includes('/node_modules/file-type/'),
        charset: 'ascii',
        legalComments: 'none',
        supported: { ...WITHOUT_PRIVATE_NAMES, ...(path.includes('/node_modules/jose/') ? WITHOUT_CLASS_FIELDS : {}) },
      })
      return { contents: code }
    })
  },
}

/** Lets CommonJS packages have modules of Node in an ES module, which has no `require`, and leaves out what only reports. */
export const replaceRequires: Plugin = {
  name: 'replace-requires',
  setup(build) {
    build.onResolve({ filter: /^[\w:/]+$/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'required' } : undefined,
    )
    build.onLoad({ filter: /^/, namespace: 'required' }, ({ path }) => ({
      contents: `import members from ${JSON.stringify(path)}\nmodule.exports = members`,
    }))
    // Its second user is prom-client: for spans in exemplars, which are not used.
    build.onResolve({ filter: /^(debug|@opentelemetry\/api)$/ }, ({ path, kind }) =>
      path === 'debug' || kind === 'require-call' ? { path, namespace: 'silent' } : undefined,
    )
    build.onLoad({ filter: /^/, namespace: 'silent' }, () => ({ contents: 'export default () => () => {}' }))
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
  const [file] = globSync('{LICENSE,license}*', { cwd: folder })
  if (file === undefined) throw new Error(`${name} ${version} has no license file. Add its text by hand.`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
