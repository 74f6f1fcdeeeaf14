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
  const roots = new Map<string, string>()
  let root = ''
  let workdir = ''
  for (const [index, stage] of stages.entries()) {
    root = join(top, stage.name ?? String(index))
    mkdirSync(root)
    if (stage.name !== undefined) roots.set(stage.name, root)
    const variables: Record<string, string> = {}
    for (const { word, text } of stage.steps) {
      if (word === 'WORKDIR') {
        workdir = text
        mkdirSync(join(root, workdir), { recursive: true })
      } else if (word === 'ENV') variables[text.split('=')[0] ?? ''] = text.split('=')[1] ?? ''
      else if (word === 'COPY') copy(text, { context, roots, to: join(root, workdir) })
      else if (word === 'RUN')
        await promisify(execFile)('sh', ['-ec', isRoot ? text : text.replace(/&& chown .*/, '')], {
          cwd: join(root, workdir),
          env: { ...process.env, ...variables, ...env, PATH },
        })
    }
  }
  const last = stages.at(-1) ?? { image: '', name: undefined, steps: [] }
  const folder = join(root, workdir)
  const volume = join(root, wordsOf(lastOf(last, 'VOLUME'))[0] ?? '')
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

function copy(
  text: string,
  { context, roots, to }: { readonly context: string; readonly roots: ReadonlyMap<string, string>; readonly to: string },
): void {
  const [, stage, rest = ''] = /^(?:--from=(\S+) )?(.+)$/.exec(text) ?? []
  const words = rest.split(' ')
  const target = words.pop() ?? '.'
  for (const source of words) {
    const from = stage === undefined ? join(context, source) : join(roots.get(stage) ?? '', source)
    cpSync(from, target.endsWith('/') ? join(to, target, basename(source)) : join(to, target), { recursive: true, verbatimSymlinks: true })
  }
}
