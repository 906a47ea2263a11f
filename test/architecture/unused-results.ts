/**
 * Finds discarded Results: an expression statement whose value is a `Result`, a `ResultAsync`, or a promise of one. No
 * linter covers all of these forms.
 */
import { resolve } from "node:path";
import { SyntaxKind } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";

export interface UnusedResult {
  readonly file: string;
  readonly line: number;
  readonly type: string;
}

const RESULT = /^(Promise<)?(Result|ResultAsync|Ok|Err)</;

const ASSIGNMENTS: ReadonlySet<SyntaxKind> = new Set([SyntaxKind.EqualsToken, SyntaxKind.QuestionQuestionEqualsToken]);

/** A variable that gets a Result may be read later. */
const isAssignment = (node: Parameters<typeof is.isBinaryExpression>[0]): boolean =>
  is.isBinaryExpression(node) && ASSIGNMENTS.has(node.operatorToken.kind);

/** The line of a node, whose position includes the white space before it. */
const lineOf = (text: string, position: number): number =>
  text.slice(0, position + text.slice(position).search(/\S/)).split("\n").length;

/** Checks every source file of a project. `config` is its tsconfig.json. */
export const findUnusedResults = (
  config: string,
): { readonly files: number; readonly unused: readonly UnusedResult[] } => {
  const path = resolve(config);
  const api = new API({ cwd: process.cwd() });
  try {
    const project = api.updateSnapshot({ openProjects: [path] }).getProject(path);
    if (project === undefined) throw new Error(`no project at ${path}`);
    const { program, checker } = project;
    const own = program
      .getSourceFileNames()
      .filter((file) => !file.includes("/node_modules/") && !file.endsWith(".d.ts") && !file.startsWith("bundled:"));
    const unused: UnusedResult[] = [];
    for (const file of own) {
      const source = program.getSourceFile(file);
      if (source === undefined) continue;
      const visit = (node: Parameters<typeof is.isExpressionStatement>[0]): void => {
        if (is.isExpressionStatement(node) && !isAssignment(node.expression)) {
          const found = checker.getTypeAtLocation(node.expression);
          const type = found === undefined ? "" : checker.typeToString(found);
          const line = lineOf(source.text, node.expression.pos);
          if (RESULT.test(type)) unused.push({ file, line, type });
        }
        node.forEachChild((child) => visit(child));
      };
      source.forEachChild((child) => visit(child));
    }
    return { files: own.length, unused };
  } finally {
    api.close();
  }
};
