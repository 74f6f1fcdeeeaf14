/** A token of SoftHSM2, in a folder of its own, with keys that other processes make and delete. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import type { KeyServiceControl } from '../../../src/conformance/keys/index.ts'

/** Where Debian, Fedora and Homebrew install the library. */
const LIBRARIES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
]
const require = createRequire(import.meta.url)

export const SOFT_HSM = LIBRARIES.find((file) => existsSync(file))
export const PIN = '5678'

/** Returns what is missing for tests with a token, as a sentence; undefined if nothing is. */
export function missingForTokens(): string | undefined {
  if (SOFT_HSM === undefined || spawnSync('softhsm2-util', ['--version']).status !== 0)
    return 'SoftHSM2 is not installed. Debian: apt-get install softhsm2'
  try {
    require('pkcs11js')
    return undefined
  } catch {
    return 'pkcs11js is not built. Run: npm explore pkcs11js -- npm run build'
  }
}

export interface SoftToken {
  readonly label: string
  makeKey(label: string): void
  deleteKey(label: string): void
  renameKey(label: string, to: string): void
}

/** Makes keys as the tools of a token do: in another process, with another session. */
const KEY_TOOL = `
const [library, tokenLabel, pin, action, label, to] = process.argv.slice(1)
const api = require(${JSON.stringify(require.resolve('pkcs11js'))})
const token = new api.PKCS11()
token.load(library)
token.C_Initialize()
const slot = token.C_GetSlotList(true).find((one) => token.C_GetTokenInfo(one).label.trimEnd() === tokenLabel)
const session = token.C_OpenSession(slot, api.CKF_SERIAL_SESSION | api.CKF_RW_SESSION)
token.C_Login(session, api.CKU_USER, pin)
const text = (type, value) => ({ type: api[type], value })
if (action === 'make')
  token.C_GenerateKey(session, { mechanism: api.CKM_AES_KEY_GEN }, [
    text('CKA_CLASS', api.CKO_SECRET_KEY), text('CKA_KEY_TYPE', api.CKK_AES), text('CKA_VALUE_LEN', 32), text('CKA_LABEL', label),
    text('CKA_TOKEN', true), text('CKA_PRIVATE', true), text('CKA_SENSITIVE', true), text('CKA_EXTRACTABLE', false),
    text('CKA_ENCRYPT', true), text('CKA_DECRYPT', true),
  ])
else {
  token.C_FindObjectsInit(session, [text('CKA_LABEL', label)])
  const [key] = token.C_FindObjects(session, 1)
  token.C_FindObjectsFinal(session)
  if (action === 'delete') token.C_DestroyObject(session, key)
  else token.C_SetAttributeValue(session, key, [text('CKA_LABEL', to)])
}
token.C_Finalize()
`

/** A library that fails on demand in front of SoftHSM2. */
export interface FaultyLibrary extends Required<Pick<KeyServiceControl, 'fail' | 'calls'>> {
  readonly module: string
}

/** Milliseconds for which a call of it hangs, and some more. */
export const HANG_MS = 5500

export interface SoftTokens {
  create(): SoftToken
  /** Undefined without a C compiler. */
  readonly faulty: FaultyLibrary | undefined
  discard(): void
}

/** Returns makers of tokens in one folder, which this process and its children use from now on. */
export function softTokens(): SoftTokens {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'strongroom-token-'))
  mkdirSync(path.join(folder, 'tokens'))
  const settings = path.join(folder, 'softhsm2.conf')
  writeFileSync(settings, `directories.tokendir = ${folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n`)
  process.env.SOFTHSM2_CONF = settings
  let made = 0
  return {
    create() {
      const label = `token ${++made}`
      run('softhsm2-util', ['--init-token', '--free', '--label', label, '--so-pin', '1234', '--pin', PIN])
      const change = (action: string, ...labels: string[]) =>
        run(process.execPath, ['-e', KEY_TOOL, SOFT_HSM ?? '', label, PIN, action, ...labels])
      return {
        label,
        makeKey: (key) => change('make', key),
        deleteKey: (key) => change('delete', key),
        renameKey: (key, to) => change('rename', key, to),
      }
    },
    faulty: faultyLibrary(folder),
    discard: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function faultyLibrary(folder: string): FaultyLibrary | undefined {
  if (spawnSync('cc', ['--version']).status !== 0) return undefined
  const [module, fault, calls] = ['faulty.so', 'fault', 'calls'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  const headers = path.join(path.dirname(require.resolve('pkcs11js')), 'includes/pkcs11')
  run('cc', ['-shared', '-fPIC', '-O2', `-I${headers}`, '-o', module, path.join(import.meta.dirname, 'faulty-token.c'), '-ldl'])
  Object.assign(process.env, { FAULTY_TOKEN_LIBRARY: SOFT_HSM, FAULTY_TOKEN_FAULT: fault, FAULTY_TOKEN_CALLS: calls })
  writeFileSync(calls, '')
  return {
    module,
    async fail(kind, count = Number.MAX_SAFE_INTEGER) {
      writeFileSync(fault, kind === undefined ? '0 none' : `${count} ${kind}`)
    },
    calls: () => statSync(calls).size,
  }
}

function run(command: string, parameters: readonly string[]): void {
  const { status, stderr } = spawnSync(command, parameters, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`)
}
