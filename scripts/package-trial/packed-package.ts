/** The package as it would be published: packed, and unpacked again. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { required } from '../../src/core/util/lists.ts'
import { TOP, type Trial } from './trial.ts'

/** The members of `npm pack --json` that are read, one entry per package. The outer shape depends on the version of npm. */
const packedEntry = z.object({ filename: z.string(), unpackedSize: z.number(), entryCount: z.number() })
const packedShape = z.union([z.array(packedEntry), z.record(z.string(), packedEntry)])

/** The tarball, and the folder with its files. */
export interface PackedPackage {
  readonly tarball: string
  readonly folder: string
}

/** Packs what the last build wrote. */
export function packPackage({ home }: Trial): PackedPackage {
  if (!existsSync(join(TOP, 'dist/index.js'))) throw new Error('There is no build to pack. Run npm run build.')
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], {
    cwd: TOP,
    encoding: 'utf8',
  })
  const packed = required(Object.values(packedShape.parse(JSON.parse(output)))[0], 'the tarball of npm pack')
  const tarball = join(home, packed.filename)
  const folder = join(home, 'unpacked')
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
  console.log(`packed ${packed.entryCount} files, ${Math.round(packed.unpackedSize / 1024)} KB unpacked`)
  return { tarball, folder }
}
