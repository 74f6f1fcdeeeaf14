/** What is unsafe about files and folders of a configuration: who can read them, where they are, and how much space is left. */
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { LoadedConfig } from '../config/load-config.ts'
import { type Finding, when } from './finding.ts'
import { freeBytesOf, sizeOf } from './storage-details.ts'

/** Permission bits of other users than the owner. */
const READ = 0o044
const WRITE = 0o022
const ANY = 0o077
/** Space below which a vault soon stops. */
const SCARCE_BYTES = 1024 ** 3

export async function findInFiles(loaded: LoadedConfig): Promise<readonly Finding[]> {
  return [
    ...(await findInConfigFile(loaded)),
    ...(await findInSecrets(loaded)),
    ...(await findInData(loaded)),
    ...(await findSpace(loaded)),
  ]
}

async function findInConfigFile({ config: { vault }, file }: LoadedConfig): Promise<readonly Finding[]> {
  const stats = await statsOf(file)
  const hasCode = [vault.storage, vault.keys, vault.blobs, vault.scanner].some((one) => typeof one === 'function')
  const changed = `${file} can be changed by other users, who can then run code here`
  const read = `${file} has functions, which can contain secrets, and other users can read it`
  return [
    ...when(hasBits(stats, WRITE), 'unsafe', [changed, `chmod go-w ${file}`]),
    ...when(hasCode && hasBits(stats, READ), 'warning', [read, `chmod 600 ${file}, or use { env } and { file }`]),
  ]
}

async function findInSecrets(loaded: LoadedConfig): Promise<readonly Finding[]> {
  const database = databaseOf(loaded)
  const keyFiles = keyFilesOf(loaded)
  const open = [...keyFiles, ...secretFilesOf(loaded)].map(async (file) => {
    const finding = `${file}, which has a key or a secret, can be read or changed by other users`
    return when(hasBits(await statsOf(file), ANY), 'unsafe', [finding, `chmod 600 ${file}`])
  })
  const beside = keyFiles.flatMap((file) => {
    const finding = `key file ${file} is beside the database, so one copy of the folder has both`
    const isBeside = database !== undefined && dirname(file) === dirname(database)
    return when(isBeside, 'warning', [finding, 'move it to another volume, and correct vault.keys'])
  })
  return [...(await Promise.all(open)).flat(), ...beside]
}

async function findInData(loaded: LoadedConfig): Promise<readonly Finding[]> {
  const [database, folder] = [databaseOf(loaded), blobFolderOf(loaded)]
  const stats = database === undefined ? undefined : await statsOf(database)
  const blobs = folder === undefined ? undefined : await statsOf(folder)
  return [
    ...when(hasBits(stats, WRITE), 'unsafe', [`${database} can be changed by other users`, `chmod 600 ${database}`]),
    ...when(hasBits(stats, READ) && !hasBits(stats, WRITE), 'warning', [
      `${database} can be read by other users, with its plain columns`,
      `chmod 600 ${database}`,
    ]),
    ...when(hasBits(blobs, WRITE), 'unsafe', [
      `${folder} can be changed by other users, who can destroy files`,
      `chmod go-w ${folder}`,
    ]),
  ]
}

async function findSpace(loaded: LoadedConfig): Promise<readonly Finding[]> {
  const database = databaseOf(loaded)
  const folders = [database === undefined ? undefined : dirname(database), blobFolderOf(loaded)]
  const found = [...new Set(folders)].map(async (folder): Promise<readonly Finding[]> => {
    if (folder === undefined) return []
    const free = await freeBytesOf(folder)
    if (free === undefined)
      return [{ level: 'warning', finding: `${folder} does not exist or cannot be read`, remedy: 'make it, or correct its path' }]
    const finding = `the disk of ${folder} has ${sizeOf(free)} left`
    return when(free < SCARCE_BYTES, 'warning', [finding, 'free space, or use a larger disk'])
  })
  return (await Promise.all(found)).flat()
}

function databaseOf({ config, pathOf }: LoadedConfig): string | undefined {
  const { storage } = config.vault
  return typeof storage === 'object' && 'sqlite' in storage ? pathOf(storage.sqlite.filename) : undefined
}

function keyFilesOf({ config, pathOf }: LoadedConfig): readonly string[] {
  const { keys } = config.vault
  return typeof keys === 'object' && 'file' in keys ? [keys.file, ...(keys.olderFiles ?? [])].map(pathOf) : []
}

function blobFolderOf({ config, pathOf }: LoadedConfig): string | undefined {
  const { blobs } = config.vault
  return typeof blobs === 'object' ? pathOf(blobs.directory) : undefined
}

/** The files of `{ file }` in a configuration. */
function secretFilesOf({ config: { vault }, pathOf }: LoadedConfig): readonly string[] {
  const { storage, keys } = vault
  const secrets = [
    typeof storage === 'object' && 'postgres' in storage ? storage.postgres.connectionString : undefined,
    typeof keys === 'object' && 'transit' in keys ? keys.transit.token : undefined,
    typeof keys === 'object' && 'pkcs11' in keys ? keys.pkcs11.pin : undefined,
  ]
  return secrets.flatMap((secret) => (secret?.file === undefined ? [] : [pathOf(secret.file)]))
}

async function statsOf(file: string): Promise<Stats | undefined> {
  return stat(file).catch(() => undefined)
}

/** Windows has no such bits. */
function hasBits(stats: Stats | undefined, bits: number): boolean {
  return stats !== undefined && process.platform !== 'win32' && (stats.mode & bits) !== 0
}
