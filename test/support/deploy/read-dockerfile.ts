/** A Dockerfile as data: the instructions that ours has, and an error for every other one. */

/** One instruction, such as `RUN mkdir data`. */
export interface Instruction {
  readonly word: string
  readonly text: string
}

/** The instructions after one FROM. */
export interface Stage {
  readonly image: string
  /** The name that other stages copy from; undefined for the last one. */
  readonly name: string | undefined
  readonly steps: readonly Instruction[]
}

const KNOWN = ['COPY', 'RUN', 'WORKDIR', 'ENV', 'USER', 'VOLUME', 'EXPOSE', 'STOPSIGNAL', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD']

/** Returns the stages of a Dockerfile. Throws for an instruction that it does not know. */
export function readDockerfile(text: string): Stage[] {
  const lines = text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const stages: (Stage & { readonly steps: Instruction[] })[] = []
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    const from = word === 'FROM' ? /^(\S+)(?: AS (\S+))?$/.exec(rest) : null
    if (from !== null) stages.push({ image: from[1] ?? '', name: from[2], steps: [] })
    else if (KNOWN.includes(word)) stages.at(-1)?.steps.push({ word, text: rest })
    else throw new Error(`Not an instruction that is known: ${line}`)
  }
  return stages
}

/** Returns the argument of the last instruction with this word. */
export function lastOf({ steps }: Stage, word: string): string {
  return steps.findLast((step) => step.word === word)?.text ?? ''
}

/** Returns a list in the form of JSON, as that of CMD. */
export function wordsOf(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('[')))
}
