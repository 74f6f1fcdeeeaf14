/** Runs the steps of a Dockerfile without a container engine: each stage is a folder, and each command a process in it. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { lastOf, type Stage, wordsOf } from './read-dockerfile.ts'

/** What an image consists of. */
export interface BuiltImage {
  /** The folder that is WORKDIR of the last stage. */
  readonly folder: string
  /** Whether all of the machine but its volume is read-only for its process, or only its own files. */
  readonly isReadOnly: boolean
  /** Starts ENTRYPOINT with these words in place of CMD, as USER. */
  start(words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess
  /** Returns the exit code of HEALTHCHECK, with its port replaced by another one. */
  check(port: number): number | null
  remove(): void
}

const USER = 1000
/** The folder of the last stage, which has no name. */
const LAST = 'image'
const isRoot = process.geteuid?.() === 0
/** The node of this run, before others. */
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`

/** Runs the stages on a context. `env` is that of RUN. */
export async function buildImage(
  stages: readonly Stage[],
  context: string,
  env: Readonly<Record<string, string>>,
): Promise<BuiltImage> {
  const top = mkdtempSync(join(tmpdir(), 'strongroom-image-'))
  // Other accounts find their files in it.
  chmodSync(top, 0o755)
  let folder = ''
  for (const stage of stages) folder = await runStage(stage, { top, context, env })
  const last = stages.at(-1) ?? { image: '', name: undefined, steps: [] }
  const volume = join(top, LAST, wordsOf(lastOf(last, 'VOLUME'))[0] ?? '')
  const isReadOnly = isRoot && spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -o remount,bind,ro /']).status === 0
  const [file = '', ...first] = wordsOf(lastOf(last, 'ENTRYPOINT'))
  // A volume is a mount of its own, so it stays writable.
  const script = `mount --bind '${volume}' '${volume}' && mount -o remount,bind,ro / && cd '${folder}' && exec setpriv --reuid ${USER} --regid ${USER} --clear-groups "$@"`
  return {
    folder,
    isReadOnly,
    start(words, given) {
      const line = [file, ...first, ...words]
      const options = { cwd: folder, env: { PATH, NODE_ENV: 'production', ...given }, stdio: 'pipe' } as const
      if (isReadOnly) return spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', ...line], options)
      return spawn(line[0] ?? '', line.slice(1), options)
    },
    check(port) {
      const [command = '', ...args] = wordsOf(lastOf(last, 'HEALTHCHECK'))
      const words = args.map((word) => word.replace(':8421/', `:${port}/`))
      return spawnSync(command, words, { cwd: folder, env: { PATH } }).status
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  }
}

/** Runs the steps of one stage in a folder of its own, and returns where its commands run. */
async function runStage(
  { name = LAST, steps }: Stage,
  { top, context, env }: { readonly top: string; readonly context: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> {
  const root = join(top, name)
  let folder = root
  const variables: Record<string, string> = {}
  for (const { word, text } of steps) {
    if (word === 'WORKDIR') {
      folder = join(root, text)
      mkdirSync(folder, { recursive: true })
    } else if (word === 'ENV') {
      const [variable = '', value] = text.split('=')
      variables[variable] = value ?? ''
    } else if (word === 'COPY') copy(text, { context, top, folder })
    else if (word === 'RUN')
      await promisify(execFile)('sh', ['-ec', isRoot ? text : text.replace(/&& chown .*/, '')], {
        cwd: folder,
        env: { ...process.env, ...variables, ...env, PATH },
      })
  }
  return folder
}

function copy(
  text: string,
  { context, top, folder }: { readonly context: string; readonly top: string; readonly folder: string },
): void {
  const [, stage, rest = ''] = /^(?:--from=(\S+) )?(.+)$/.exec(text) ?? []
  const words = rest.split(' ')
  const target = words.pop() ?? '.'
  for (const source of words) {
    const from = stage === undefined ? join(context, source) : join(top, stage, source)
    cpSync(from, target.endsWith('/') ? join(folder, target, basename(source)) : join(folder, target), {
      recursive: true,
      verbatimSymlinks: true,
    })
  }
}
