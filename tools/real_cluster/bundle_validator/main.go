// Validates a bundle of the Operator Lifecycle Manager with the code of operator-framework itself:
// `bundle FOLDER` does what `opm alpha bundle validate` does after it has pulled an image, and what
// `operator-sdk bundle validate --select-optional suite=operatorframework` adds to it.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"github.com/sirupsen/logrus"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle FOLDER")
		os.Exit(2)
	}
	errors, warnings := validate(os.Args[1])
	for _, one := range warnings {
		fmt.Println("warning:", one)
	}
	for _, one := range errors {
		fmt.Println("error:", one)
	}
	fmt.Printf("%d errors, %d warnings\n", len(errors), len(warnings))
	if len(errors) > 0 {
		os.Exit(1)
	}
}

func validate(folder string) (errors []error, warnings []error) {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	images := bundle.NewImageValidator(nil, logrus.NewEntry(logger), "operatorhub", "bundle-objects")
	if err := images.ValidateBundleFormat(folder); err != nil {
		errors = append(errors, err)
	}
	if err := images.ValidateBundleContent(filepath.Join(folder, bundle.ManifestsDir)); err != nil {
		errors = append(errors, err)
	}
	loaded, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return append(errors, err), warnings
	}
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.GoodPracticesValidator,
		validation.AlphaDeprecatedAPIsValidator,
	)
	for _, result := range validators.Validate(loaded.ObjectsToValidate()...) {
		for _, one := range result.Errors {
			errors = append(errors, one)
		}
		for _, one := range result.Warnings {
			warnings = append(warnings, one)
		}
	}
	return errors, warnings
}
