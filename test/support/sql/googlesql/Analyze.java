import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.zetasql.Analyzer;
import com.google.zetasql.AnalyzerOptions;
import com.google.zetasql.LanguageOptions;
import com.google.zetasql.SimpleCatalog;
import com.google.zetasql.SimpleTable;
import com.google.zetasql.SqlException;
import com.google.zetasql.Type;
import com.google.zetasql.ZetaSQLBuiltinFunctionOptions;
import com.google.zetasql.ZetaSQLOptions.ProductMode;
import com.google.zetasql.resolvedast.ResolvedNodes.ResolvedOutputColumn;
import com.google.zetasql.resolvedast.ResolvedNodes.ResolvedQueryStmt;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Analyzes statements with Google's GoogleSQL analyzer (https://github.com/google/googlesql). Reads
 * {"tables": {NAME: {COLUMN: TYPE}}, "statements": [TEXT]} from stdin. Writes one element per statement:
 * {"columns": [{"name", "type"}]} or {"error"}.
 */
public class Analyze {
  record Input(Map<String, Map<String, String>> tables, List<String> statements) {}

  static String nameOf(Type type) {
    if (type.isArray()) return "ARRAY<" + nameOf(type.asArray().getElementType()) + ">";
    if (!type.isStruct()) return type.typeName(ProductMode.PRODUCT_EXTERNAL);
    return type.asStruct().getFieldList().stream()
        .map(field -> field.getName() + " " + nameOf(field.getType()))
        .collect(Collectors.joining(", ", "STRUCT<", ">"));
  }

  static List<ResolvedOutputColumn> columnsOf(Analyzer analyzer, String statement) {
    return ((ResolvedQueryStmt) analyzer.analyzeStatement(statement)).getOutputColumnList();
  }

  public static void main(String[] args) {
    var input = new Gson().fromJson(new InputStreamReader(System.in, StandardCharsets.UTF_8), Input.class);
    var language = new LanguageOptions().enableMaximumLanguageFeatures();
    // BigQuery's mode: https://github.com/google/googlesql/blob/master/googlesql/public/options.proto
    language.setProductMode(ProductMode.PRODUCT_EXTERNAL);
    var options = new AnalyzerOptions();
    options.setLanguageOptions(language);
    var catalog = new SimpleCatalog("catalog");
    catalog.addZetaSQLFunctionsAndTypes(new ZetaSQLBuiltinFunctionOptions(language));
    var analyzer = new Analyzer(options, catalog);
    input.tables().forEach((name, columns) -> {
      // The analyzer parses the types of the columns.
      var casts = columns.entrySet().stream()
          .map(one -> "CAST(NULL AS " + one.getValue() + ") AS `" + one.getKey() + "`")
          .collect(Collectors.joining(", ", "SELECT ", ""));
      var table = new SimpleTable(name);
      for (var column : columnsOf(analyzer, casts)) table.addSimpleColumn(column.getName(), column.getColumn().getType());
      catalog.addSimpleTable(table);
    });
    var output = new JsonArray();
    for (var statement : input.statements()) {
      var result = new JsonObject();
      try {
        var columns = new JsonArray();
        for (var column : columnsOf(analyzer, statement)) {
          var one = new JsonObject();
          one.addProperty("name", column.getName());
          one.addProperty("type", nameOf(column.getColumn().getType()));
          columns.add(one);
        }
        result.add("columns", columns);
      } catch (SqlException error) {
        result.addProperty("error", error.getMessage());
      }
      output.add(result);
    }
    System.out.println(output);
  }
}
