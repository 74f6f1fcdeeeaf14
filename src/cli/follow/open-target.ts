/** From the text of `--to`, and the options beside it, to a target. */
import { access, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CommandRun } from '../command.ts'
import type { Secret } from '../config/define-config.ts'
import { readSecret, type SecretSource } from '../config/secrets.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { Form } from './forms/form.ts'
import type { Target } from './target.ts'
import { fileTarget, streamTarget } from './targets/file-target.ts'
import { httpTarget } from './targets/http-target.ts'
import { syslogTarget } from './targets/syslog-target.ts'

const SYSLOG = {
  'syslog:': { transport: 'tcp', port: 514 },
  'syslog+tls:': { transport: 'tls', port: 6514 },
  'syslog+udp:': { transport: 'udp', port: 514 },
} as const

/** What a target needs of the line. */
export interface TargetLine extends Pick<CommandRun, 'options'> {
  readonly to: string
  readonly form: Form
  readonly source: SecretSource
  readonly write: (text: string) => Promise<void>
  readonly onCut: () => void
}

/** Returns the target. Throws `CommandFailure` for an address or an option that does not fit. */
export async function openTarget(line: TargetLine): Promise<Target> {
  const { to, write } = line
  if (to === '-') return streamTarget(write)
  if (!/^[a-z+]+:\/\//i.test(to)) {
    // A folder that is missing is a mistake, while one that goes away later is waited for.
    await access(dirname(to))
    return fileTarget(to)
  }
  const url = URL.canParse(to) ? new URL(to) : undefined
  if (url === undefined) throw usage('--to is not a valid address.')
  if (url.username !== '' || url.password !== '')
    throw usage('--to must not contain a password. Name it with --header-env or --header-file.')
  if (url.protocol === 'http:' || url.protocol === 'https:') return openHttp(url, line)
  const syslog = Object.hasOwn(SYSLOG, url.protocol) ? SYSLOG[url.protocol as keyof typeof SYSLOG] : undefined
  if (syslog === undefined || url.hostname === '')
    throw usage('--to must be a file, -, https://…, http://…, syslog://host:port, syslog+tls://… or syslog+udp://….')
  const { transport } = syslog
  return syslogTarget({
    // An IPv6 address is in brackets.
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? syslog.port : Number(url.port),
    transport,
    onCut: line.onCut,
    ...(transport === 'tls' ? { tls: await readCertificates(line) } : {}),
  })
}

function openHttp(url: URL, { options, form, source }: TargetLine): Target {
  const body = options.word('body', ['lines', 'array']) ?? 'lines'
  if (body === 'array' && !form.isJson) throw usage('--body array needs a form that is JSON: event or ocsf.')
  const headers = [
    ...options.list('headerEnv').map((text) => headerOf('--header-env', text, (env): Secret => ({ env }))),
    ...options.list('headerFile').map((text) => headerOf('--header-file', text, (file): Secret => ({ file }))),
  ]
  const read = async ({ name, flag, secret }: (typeof headers)[number]) => [name, await readSecret(secret, flag, source)] as const
  return httpTarget({
    url,
    body,
    mediaType: form.mediaType,
    headers: async () => Object.fromEntries(await Promise.all(headers.map(read))),
  })
}

function headerOf(flag: string, text: string, secretOf: (place: string) => Secret) {
  const [, name = '', place = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(.+)$/.exec(text) ?? []
  if (name === '') throw usage(`${flag} must be the name of a header, =, and where its value is: authorization=SIEM_TOKEN.`)
  return { flag, name, secret: secretOf(place) }
}

async function readCertificates({ options, source }: TargetLine) {
  const names = ['ca', 'cert', 'key'] as const
  const pairs = await Promise.all(
    names.map(async (name) => {
      const file = options.text(name)
      return file === undefined ? [] : [[name, await readFile(source.pathOf(file), 'utf8')] as const]
    }),
  )
  return Object.fromEntries(pairs.flat())
}

function usage(sentence: string): CommandFailure {
  return new CommandFailure(EXIT.usage, sentence)
}
