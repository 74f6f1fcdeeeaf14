/** The package as `npm publish` would have it, from a registry on this machine that has no other one. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'tsup'
import commandConfig from '../../../tsup.command.config.ts'
import libraryConfig from '../../../tsup.config.ts'
import { listen, stop } from '../http/serve-vault.ts'

const TOP = fileURLToPath(new URL('../../../', import.meta.url))

/** A registry. */
export interface PackageRegistry {
  readonly url: string
  close(): Promise<void>
}

/** Builds the ES modules of the package and its command, packs them, and serves them. */
export async function servePackage(): Promise<PackageRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-package-'))
  const shared = { config: false, dts: false, format: 'esm', clean: false, silent: true, onSuccess: async () => {} } as const
  if (
    Array.isArray(libraryConfig) ||
    typeof libraryConfig === 'function' ||
    Array.isArray(commandConfig) ||
    typeof commandConfig === 'function'
  )
    throw new Error('The build is one configuration.')
  await build({ ...libraryConfig, ...shared, outDir: join(folder, 'dist') })
  await build({ ...commandConfig, ...shared, outDir: join(folder, 'dist/cli') })
  const {
    devDependencies: _,
    scripts: __,
    overrides: ___,
    ...manifest
  } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  cpSync(join(TOP, 'deploy'), join(folder, 'deploy'), { recursive: true })
  mkdirSync(join(folder, 'packed'))
  await promisify(execFile)('npm', ['pack', '--ignore-scripts', '--pack-destination', 'packed'], { cwd: folder })
  const tarball = readFileSync(join(folder, 'packed', readdirSync(join(folder, 'packed'))[0] ?? ''))
  rmSync(folder, { recursive: true, force: true })
  const server = createServer((request, response) => {
    if (request.url === '/strongroom.tgz') return void response.end(tarball)
    if (request.url !== '/strongroom') return void response.writeHead(404).end()
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const version = { ...manifest, dist: { tarball: `${url}/strongroom.tgz`, integrity } }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        name: 'strongroom',
        'dist-tags': { latest: manifest.version },
        versions: { [manifest.version]: version },
      }),
    )
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  return { url, close: () => stop(server) }
}
