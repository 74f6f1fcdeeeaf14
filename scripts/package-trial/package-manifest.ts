/** What the checks read of package.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { required } from '../../src/core/util/lists.ts'
import { TOP } from './trial.ts'

const shape = z.object({
  engines: z.object({ node: z.string() }),
  peerDependencies: z.object({ 'better-sqlite3': z.string() }),
  devDependencies: z.object({ 'better-sqlite3': z.string() }),
})
const { engines, peerDependencies, devDependencies } = shape.parse(JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')))

/** The oldest Node: the first version that `engines` names. */
export const OLDEST_NODE = required(/^\^(\d+\.\d+\.\d+) /.exec(engines.node)?.[1], 'The oldest Node in engines')

/** The version of the SQLite driver that the tests run with. */
export const DRIVER_VERSION = devDependencies['better-sqlite3']

/** The other major versions of the driver that the package accepts. */
export const OTHER_DRIVER_VERSIONS: readonly string[] = peerDependencies['better-sqlite3']
  .split(' || ')
  .map((range) => required(/^\^(\d+)\./.exec(range)?.[1], 'A major version of better-sqlite3'))
  .filter((major) => !DRIVER_VERSION.startsWith(`${major}.`))
